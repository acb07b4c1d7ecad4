import Door
import HTTPTypes
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

struct ShutdownTests {
    private let upload =
        "POST /count HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nContent-Length: 100\r\n\r\nabc"

    @Test func `a stalled upload is cancelled after the grace, and answered`() async throws {
        try await TestDoor.configured { $0.shutdownGrace = .milliseconds(200) }.run { door in
            let stalled = try await door.connect()
            try await stalled.send(upload)
            let idle = try await door.connect()
            #expect(try await idle.exchange("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
            try await until("the upload") { door.server.statistics.activeRequests.load(ordering: .relaxed) == 1 }
            await door.services.triggerGracefulShutdown()
            try await idle.ended()
            let response = try await stalled.response()
            #expect(response.body == "cancelled after 3")
            #expect(response.closes)
            try await stalled.finish()
            try await stalled.ended()
        }
    }

    @Test func `a request that ends within the grace is answered, and closes its connection`() async throws {
        try await TestDoor.configured { $0.shutdownGrace = .seconds(30) }.run { door in
            let client = try await door.connect()
            try await client.send(
                "POST /echo HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nContent-Length: 5\r\n\r\nab")
            try await until("the request") { door.server.statistics.activeRequests.load(ordering: .relaxed) == 1 }
            await door.services.triggerGracefulShutdown()
            try await until("the end of the listener") { (try? await door.connect()) == nil }
            try await client.send("cde")
            let response = try await client.response()
            #expect(response.body == "abcde")
            #expect(response.closes)
            try await client.ended()
            await client.close()
        }
    }

    @Test func `a stream ends with its connection after the grace`() async throws {
        try await TestDoor.configured { $0.shutdownGrace = .milliseconds(100) }.run { door in
            let client = try await door.connect()
            try await client.send("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await until("the first part") { client.text.hasSuffix("tick\n\r\n") }
            await door.services.triggerGracefulShutdown()
            try await client.ended()
            #expect(!client.text.hasSuffix("0\r\n\r\n"), "a stream that was cut must not look complete")
        }
    }

    @Test func `a handler that ignores its cancellation loses its connection`() async throws {
        let gate = Gate()
        let stubborn = Endpoint(
            "/stubborn",
            methods: [
                .get: .init(scopes: nil) { _ in
                    await gate.opened()
                    return TestEndpoints.text("late")
                }
            ])
        try await TestDoor.configured([stubborn]) { configuration in
            configuration.shutdownGrace = .milliseconds(50)
            configuration.drainTimeout = .milliseconds(50)
        }.run { door in
            let client = try await door.connect()
            try await client.send("GET /stubborn HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await until("the request") { door.server.statistics.activeRequests.load(ordering: .relaxed) == 1 }
            await door.services.triggerGracefulShutdown()
            try await client.ended()
            await gate.open()
        }
    }

    @Test func `a server that cannot listen says why`() async throws {
        try await TestDoor.run { door in
            await #expect(throws: (any Error).self) {
                try await TestDoor.configured { $0.port = door.port }.run { _ in }
            }
        }
    }

    @Test func `a unix socket is a second listener`() async throws {
        let directory = try TemporaryDirectory()
        defer { directory.remove() }
        let path = "\(directory.path)/door.sock"
        try await TestDoor.configured { $0.socketPath = path }.run { door in
            let client = try await awaited("the socket") { try? await RawClient.connect(socketPath: path) }
            let response = try await client.exchange("GET /facts/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(response.body.contains(" unix "))
            await client.close()
        }
    }
}
