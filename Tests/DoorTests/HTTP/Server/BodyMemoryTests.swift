import Door
import HTTPTypes
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import Door

/// The memory of bodies that are held as a whole.
struct BodyMemoryTests {
    private static let limit = 1 << 20
    private static let endpoints = [
        Endpoint(
            "/collect",
            methods: [
                .post: .init(scopes: nil) { request in
                    TestEndpoints.text("\(try await request.collectBody(limit: limit).readableBytes)")
                }
            ])
    ]

    private func post(_ length: Int, _ body: Int) -> String {
        "POST /collect HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nContent-Length: \(length)\r\n\r\n"
            + String(repeating: "x", count: body)
    }

    private func held(_ door: TestDoor) -> Int { door.server.statistics.bodyBytes.load(ordering: .relaxed) }

    @Test func `bodies beyond the memory of all are refused, small ones are not, and nothing stays taken`() async throws
    {
        try await TestDoor.configured(Self.endpoints) { $0.bodyMemory = Self.limit }.run { door in
            let first = try await door.connect()
            try await first.send(post(Self.limit, 700_000))
            try await until("the first body") { held(door) == 700_000 }
            let second = try await door.connect()
            let refused = try await second.exchange(post(600_000, 0))
            #expect(refused.status == 503 && refused.body.contains("too-many-bodies"), "\(refused.body)")
            #expect(refused["retry-after"] == "1")
            let small = try await door.connect()
            #expect(try await small.exchange(post(60_000, 60_000)).body == "60000")
            let done = try await first.exchange(String(repeating: "x", count: Self.limit - 700_000))
            #expect(done.body == "\(Self.limit)")
            try await until("the end of the first body") { held(door) == 0 }
            #expect(door.server.statistics.refusedBodies.load(ordering: .relaxed) == 1)
            let third = try await door.connect()
            #expect(try await third.exchange(post(Self.limit, Self.limit)).body == "\(Self.limit)")
            for client in [first, second, small, third] { await client.close() }
        }
    }

    @Test func `a body of unknown length is refused when it finds no share, and its share is given back`() async throws
    {
        try await TestDoor.configured(Self.endpoints) { $0.bodyMemory = 200_000 }.run { door in
            let client = try await door.connect()
            let body = String(repeating: "x", count: 150_000)
            let head =
                "POST /collect HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nTransfer-Encoding: chunked\r\n"
            let chunk = "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n"
            let refused = try await client.exchange(head + "\r\n\(chunk)\(chunk)0\r\n\r\n")
            #expect(refused.status == 503, "\(refused.body)")
            try await until("the end of the body") { held(door) == 0 }
            await client.close()
        }
    }

    @Test func `a client that leaves gives its share back`() async throws {
        try await TestDoor.configured(Self.endpoints) { $0.bodyMemory = Self.limit }.run { door in
            let client = try await door.connect()
            try await client.send(post(Self.limit, 500_000))
            try await until("the body") { held(door) == 500_000 }
            try await client.reset()
            try await until("the end of the body") { held(door) == 0 }
        }
    }

    @Test func `a body that is parsed as a whole weighs more`() async throws {
        let memory = BodyMemory(capacity: 1000, reserve: 0)
        var request = DoorRequest(
            method: .post, path: [], query: DoorQuery(), fields: [:],
            body: RequestBody(buffer: ByteBuffer(repeating: 1, count: 300)),
            id: "", client: "", baseURL: "", sendInterim: { _, _ in })
        request.memory = BodyMemory.Share(of: memory)
        let whole = request
        let problem = await #expect(throws: Problem.self) { _ = try await whole.collectBody(limit: 1000, weight: 4) }
        #expect(problem?.type == "too-many-bodies")
    }

    @Test func `the fields of a form take a share each, while they are read`() async throws {
        let memory = BodyMemory(capacity: 100, reserve: 0)
        let form = ["a", "b", "c"].map { name in
            "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n"
                + String(repeating: name, count: name == "c" ? 101 : 60) + "\r\n"
        }
        let body = FormBody(
            RequestBody(buffer: ByteBuffer(string: form.joined() + "--b--")), boundary: Array("b".utf8),
            memory: BodyMemory.Share(of: memory))
        for name in ["a", "b"] {
            #expect(try await body.nextPart()?.name == name)
            #expect(try await body.text(of: name).count == 60)
        }
        #expect(try await body.nextPart()?.name == "c")
        let problem = await #expect(throws: Problem.self) { _ = try await body.text(of: "c") }
        #expect(problem?.status == .serviceUnavailable && problem?.type == "too-many-bodies")
    }
}
