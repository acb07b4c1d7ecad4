import Commands
import Foundation
import Operations
import TestSupport
import Testing

/// Requests and results of successful uploads.
@Suite struct UploadTests {
    @Test(arguments: [0, 1, 65_536, 262_144, 262_145, 3_000_001])
    func `an upload delivers and counts every byte`(_ size: Int) async throws {
        try await withReceiver { receiver, harness in
            let bytes = sample(size)
            let file = try harness.directory.file("a.bin", bytes)
            let (execution, meter) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            let result = try await harness.run(execution)
            let request = try #require(receiver.requests.first)
            #expect(receiver.requests.count == 1)
            #expect(request.method == "PUT")
            #expect(request.declared == size)
            #expect(request.sha256 == sha256(bytes))
            #expect(request["content-length"] == "\(size)")
            #expect(request["transfer-encoding"] == nil)
            #expect(result["status"]?.integer == 201)
            #expect(meter.reading.bytes == Int64(size))
            #expect(meter.reading.offset == Int64(size))
            #expect(meter.reading.total == Int64(size))
        }
    }

    @Test func `a request has user agent, content type and command id`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("picture.JPG", [1, 2, 3])
            let id = CommandID()
            let execution = try harness.execution(
                file: file, to: "\(receiver.origin)/in/",
                extra: [.init("headers", ["X-Tag": "a", "If-None-Match": "*"])], id: id
            ).execution
            _ = try await harness.run(execution)
            let request = try #require(receiver.requests.first)
            #expect(request.target == "/in/picture.JPG")
            #expect(request["idempotency-key"] == "\"\(id)\"")
            #expect(request.key == id.description)
            #expect(request["content-type"] == "image/jpeg")
            #expect(request["x-tag"] == "a")
            #expect(request["if-none-match"] == "*")
            #expect(request["host"] == "127.0.0.1:\(receiver.port)")
            #expect(request["authorization"] == nil)
        }
    }

    @Test func `a content type in the payload is sent`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a.jpg", [1])
            let headers: JSONValue = ["content-type": "application/x-mine"]
            _ = try await harness.upload(file: file, to: "\(receiver.origin)/a", extra: [.init("headers", headers)])
            let types = receiver.requests[0].headers.filter { $0.name.lowercased() == "content-type" }
            #expect(types.map(\.value) == ["application/x-mine"])
        }
    }

    @Test func `a POST is sent where the payload says so`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", [])
            _ = try await harness.upload(
                file: file, to: "\(receiver.origin)/a?b=c%2Fd", extra: [.init("method", "POST")])
            #expect(receiver.requests.first?.method == "POST")
            #expect(receiver.requests.first?.target == "/a?b=c%2Fd")
            #expect(receiver.requests.first?["content-length"] == "0")
        }
    }

    @Test(arguments: ["a b", "ü", "#?%", "100%25", "日本語", "a;b=c&d+e", "..%2f..", "\u{1F600}"])
    func `special names arrive unchanged`(_ name: String) async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file(name, [1])
            _ = try await harness.upload(file: file, to: "\(receiver.origin)/in/")
            let target = try #require(receiver.requests.first?.target)
            #expect(target.hasPrefix("/in/"))
            #expect(target.dropFirst(4).removingPercentEncoding == name)
            #expect(!target.dropFirst(4).contains { "/?# ".contains($0) })
        }
    }

    @Test func `the result has the response's status, headers and body`() async throws {
        try await withReceiver { receiver, harness in
            let headers = [
                "ETag": "\"1\"", "Location": "/a/1", "Content-Type": "text/plain", "Set-Cookie": "hush=1",
                "X-Other": "x",
            ]
            receiver.on("/a", .answer(200, headers: headers, body: "stored as \"1\"\n"))
            let file = try harness.directory.file("a", [1])
            let result = try await harness.upload(file: file, to: "\(receiver.origin)/a")
            let expected: JSONValue = [
                "status": 200, "headers": ["etag": "\"1\"", "location": "/a/1", "content-type": "text/plain"],
                "body": "stored as \"1\"\n",
            ]
            #expect(result == expected)
        }
    }

    @Test func `the first 64 KiB of a long response are stored, and the rest is not awaited`() async throws {
        try await withReceiver { receiver, harness in
            let text = String(repeating: "ä", count: 50_000)
            receiver.on("/a", .answer(200, body: text))
            receiver.on("/b", .answer(200, body: String(repeating: "x", count: 3 << 20)))
            let file = try harness.directory.file("a", [1])
            let result = try await harness.upload(file: file, to: "\(receiver.origin)/a")
            #expect(result["body"]?.string == String(repeating: "ä", count: 32_768))
            #expect(result["bodyTruncated"]?.bool == true)
            let endless = try await harness.upload(file: file, to: "\(receiver.origin)/b")
            #expect(endless["body"]?.string?.count == 65_536)
        }
    }

    @Test func `a response that breaks off keeps its status`() async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/a", .wrongLength(announced: 100, sent: 10))
            let file = try harness.directory.file("a", [1])
            let result = try await harness.upload(file: file, to: "\(receiver.origin)/a")
            #expect(result["status"]?.integer == 200)
            #expect(result["bodyCut"]?.bool == true && result["bodyTruncated"] == nil)
        }
    }

    @Test func `64 files are sent at once`() async throws {
        try await withReceiver { receiver, harness in
            let bytes = sample(600_000)
            let file = try harness.directory.file("a", bytes)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<64 {
                    group.addTask { _ = try await harness.upload(file: file, to: "\(receiver.origin)/\(number)") }
                }
                try await group.waitForAll()
            }
            let digest = sha256(bytes)
            #expect(receiver.requests.count == 64)
            #expect(receiver.requests.allSatisfy { $0.sha256 == digest })
        }
    }
}
