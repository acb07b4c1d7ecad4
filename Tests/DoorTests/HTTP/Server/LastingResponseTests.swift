import Door
import HTTPTypes
import NIOCore
import Synchronization
import TestSupport
import Testing

/// The connection of a response that lasts.
struct LastingResponseTests {
    private let get = "GET /lasting HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// An endpoint that writes until a write fails.
    private func endless(_ written: Shared<Int>, _ prepare: @escaping @Sendable (DoorRequest) async throws -> Void)
        -> Endpoint
    {
        Endpoint(
            "/lasting",
            methods: [
                .get: .init(scopes: nil) { request in
                    try await prepare(request)
                    return Response(
                        status: .ok,
                        body: Response.Body { writer in
                            let part = ByteBuffer(repeating: 120, count: 16 << 10)
                            while true {
                                try await writer.write(part)
                                written.change { $0 += part.readableBytes }
                            }
                        })
                }
            ])
    }

    @Test func `the end of the client's output is its end, at once and for a handler that asks later`() async throws {
        let gone = Shared(0)
        let asks = Gate()
        let waiting = Endpoint(
            "/lasting",
            methods: [
                .get: .init(scopes: nil) { request in
                    let first = Gate()
                    request.connection.whenGone {
                        gone.change { $0 += 1 }
                        Task { await first.open() }
                    }
                    await first.opened()
                    await asks.opened()
                    request.connection.whenGone { gone.change { $0 += 10 } }
                    return TestEndpoints.text("late")
                }
            ])
        try await TestDoor.configured([waiting]) { _ in }.run { door in
            let client = try await door.connect()
            try await client.send(get)
            try await until("the request") { door.server.statistics.activeRequests.load(ordering: .relaxed) == 1 }
            #expect(gone.value == 0)
            try await client.finish()
            try await until("the end of the client") { gone.value == 1 }
            await asks.open()
            try await until("the second answer") { gone.value == 11 }
            await client.close()
        }
    }

    @Test func `a write that waits for the client ends when the handler closes the connection`() async throws {
        let written = Shared(0)
        let close = Shared<(@Sendable () -> Void)?>(nil)
        let endpoint = endless(written) { request in close.change { $0 = request.connection.close } }
        try await TestDoor.configured([endpoint]) { _ in }.run { door in
            let client = try await door.connect(readsResponses: false)
            try await client.send(get)
            try await until("some bytes") { written.value > 0 }
            close.value?()
            try await until("the end") { door.server.statistics.activeRequests.load(ordering: .relaxed) == 0 }
            await client.close()
        }
    }

    @Test func `a small send buffer bounds the bytes for a client that takes nothing`() async throws {
        /// The bytes that are written until nothing moves for some time.
        func bytes(buffer: Int) async throws -> Int {
            let written = Shared(0)
            let endpoint = endless(written) { try await $0.connection.setSendBuffer(buffer) }
            var total = 0
            try await TestDoor.configured([endpoint]) { $0.writeTimeout = .seconds(1) }.run { door in
                let client = try await door.connect(readsResponses: false)
                try await client.send(get)
                try await until("the end of the slow reader") {
                    door.server.statistics.expired["slow-reader"] == 1
                }
                total = written.value
                await client.close()
            }
            return total
        }
        let (small, large) = (try await bytes(buffer: 16 << 10), try await bytes(buffer: 2 << 20))
        #expect(small > 0 && small < large)
    }
}
