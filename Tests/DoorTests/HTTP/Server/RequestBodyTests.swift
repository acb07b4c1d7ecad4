import Door
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Bodies: 100 and 104, early responses, the rest that is dropped.
struct RequestBodyTests {
    private func post(_ path: String, _ fields: String, _ body: String = "") -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\n\(fields)\r\n\r\n\(body)"
    }

    @Test func `100 is sent when the body is about to be read`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let fields = "Content-Length: 5\r\nExpect: 100-continue"
            #expect(try await client.exchange(post("/echo", fields)).status == 100)
            let response = try await client.exchange("hello")
            #expect(response.status == 200)
            #expect(response.body == "hello")
            #expect(!response.closes)
            await client.close()
        }
    }

    @Test func `a rejection comes instead of 100, and the connection is closed`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let response = try await client.exchange(post("/refuse", "Content-Length: 5\r\nExpect: 100-continue"))
            #expect(response.status == 413)
            #expect(response.closes)
            try await client.finish()
            try await client.ended()
            #expect(client.text == "")
        }
    }

    @Test func `104 comes before the final response`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let interim = try await client.exchange(post("/interim", "Content-Length: 5"))
            #expect(interim.status == 104)
            #expect(interim["location"] == "/uploads/1")
            #expect(interim["content-length"] == nil)
            let response = try await client.exchange("hello")
            #expect(response.status == 200)
            #expect(response.body == "hello")
            await client.close()
        }
    }

    @Test func `a handler may stop at the last byte of a body`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            for _ in 0..<2 {
                let response = try await client.exchange(post("/exact", "Content-Length: 5", "hello"))
                #expect(response.body == "hello")
                #expect(!response.closes)
            }
            await client.close()
        }
    }

    @Test func `chunks that are nearly all extension are cut off`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            try await client.send(post("/count", "Transfer-Encoding: chunked", "1;"))
            async let sent = client.sendForever(String(repeating: "x", count: 65_536))
            let response = try await client.response()
            #expect(response.status == 400 && response.body.contains("bad-framing"), "\(response.body)")
            #expect(response.closes)
            await client.close()
            #expect(await sent > 0)
            #expect(door.server.statistics.badRequests["bad-framing"] == 1)
        }
    }

    @Test func `many chunks of a byte, and a long extension, are taken`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let chunks = String(repeating: "1\r\nx\r\n", count: 100_000)
            let body = "1;\(String(repeating: "x", count: 60_000))\r\nx\r\n\(chunks)0\r\n\r\n"
            for _ in 0..<2 {
                let response = try await client.exchange(post("/count", "Transfer-Encoding: chunked", body))
                #expect(response.body == "100001 []", "\(response.body)")
            }
            await client.close()
        }
    }

    @Test func `trailers are there after the body`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let body = "3\r\nabc\r\n0\r\nUpload-Checksum: sha1 x\r\n\r\n"
            let response = try await client.exchange(post("/count", "Transfer-Encoding: chunked", body))
            #expect(response.body == #"3 ["Upload-Checksum=sha1 x"]"#)
            await client.close()
        }
    }

    @Test func `a short body that no handler reads is dropped, and the connection kept`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let response = try await client.exchange(post("/refuse", "Content-Length: 5", "hello"))
            #expect(response.status == 413)
            #expect(!response.closes)
            #expect(try await client.exchange(post("/echo", "Content-Length: 2", "ok")).body == "ok")
            await client.close()
        }
    }

    @Test func `an endless body is not read much further than its rejection`() async throws {
        try await TestDoor.configured { configuration in
            configuration.drainTimeout = .milliseconds(500)
        }.run { door in
            let client = try await door.connect()
            try await client.send(post("/refuse", "Transfer-Encoding: chunked"))
            async let sent = client.sendForever("10000\r\n\(String(repeating: "x", count: 1 << 16))\r\n")
            let response = try await client.response()
            #expect(response.status == 413)
            #expect(response.closes)
            try await client.ended()
            await client.close()
            // The buffers of the kernel take some megabytes on top of the limit of 1 MiB.
            #expect(await sent < 64 << 20)
        }
    }

    @Test func `a body longer than its handler takes is refused by its announced length`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            let response = try await client.exchange(
                post("/echo", "Content-Length: 1048577\r\nExpect: 100-continue"))
            #expect(response.status == 413)
            #expect(response.body.contains("\"limit\":1048576"))
            await client.close()
        }
    }

    @Test func `a reset is a cut, not a failure of the server`() async throws {
        let error = Mutex<(any Error)?>(nil)
        let record = Endpoint(
            "/record",
            methods: [
                .post: .init(scopes: nil) { request in
                    do {
                        return TestEndpoints.text(try await request.bodyText)
                    } catch let caught {
                        error.withLock { $0 = caught }
                        throw caught
                    }
                }
            ])
        try await TestDoor.configured([record]) { _ in }.run { door in
            let client = try await door.connect()
            try await client.send(post("/record", "Content-Length: 5", "hel"))
            try await until("the request") { door.server.statistics.activeRequests.load(ordering: .relaxed) == 1 }
            try await client.reset()
            let caught = try await awaited("the error") { error.withLock { $0 } }
            #expect(Problem(caught)?.type == "request-cut")
        }
    }

    @Test func `many bodies at once arrive whole`() async throws {
        let part = String(repeating: "x", count: 1 << 16)
        try await TestDoor.run { door in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        let client = try await door.connect()
                        try await client.send(post("/count", "Content-Length: \(8 << 16)"))
                        for _ in 0..<8 { try await client.send(part) }
                        let response = try await client.response()
                        await client.close()
                        return response.body
                    }
                }
                for try await body in group { #expect(body == "\(8 << 16) []") }
            }
        }
    }

    @Test func `a body that is cut is never complete`() async throws {
        try await TestDoor.run { door in
            let client = try await door.connect()
            try await client.send(post("/count", "Content-Length: 5", "hel"))
            try await client.finish()
            let response = try await client.response()
            #expect(response.status == 400)
            #expect(response.body.contains("request-cut"))
            try await client.ended()
        }
    }
}
