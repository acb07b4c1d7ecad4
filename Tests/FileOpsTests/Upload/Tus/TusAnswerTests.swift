import Commands
import Foundation
import Synchronization
import TestSupport
import Testing

/// Unusual answers to the requests of a tus upload.
@Suite struct TusAnswerTests: TusSuite {
    @Test(arguments: [403, 404, 410])
    func `an upload that has vanished starts over`(_ status: Int) async throws {
        try await withTus { receiver, upload, bytes in
            receiver.on("/files/1", .reset(.bytes(1_000_000)), .reset(.head))
            _ = try await upload.failure()
            receiver.on("/files/1", .answer(status))
            receiver.on("/files/", .created("\(receiver.origin)/files/2"))
            receiver.on("/files/2", .appended(Self.size))
            receiver.forget()
            _ = try await upload.run()
            let lines = receiver.requests.map(\.line)
            // Once or twice, by the bytes that the kernel saw acknowledged before the reset.
            #expect(Set(lines.dropLast(2)) == ["HEAD /files/1"], "\(lines)")
            #expect(lines.suffix(2) == ["POST /files/", "PATCH /files/2"], "\(lines)")
            #expect(receiver.requests.last?.sha256 == sha256(bytes))
            #expect(upload.checkpoint?["tus"]?.string == "\(receiver.origin)/files/2")
        }
    }

    @Test func `an upload starts over if its location holds another file`() async throws {
        try await withTus { receiver, upload, _ in
            receiver.on("/files/1", .reset(.bytes(1_000_000)), .reset(.head))
            _ = try await upload.failure()
            for answer in [Behaviour.at(5, of: 17), .at(Self.size + 1, of: Self.size)] {
                receiver.on("/files/1", answer, .appended(Self.size))
                receiver.forget()
                _ = try await upload.run()
                #expect(receiver.requests.map(\.line) == ["HEAD /files/1", "POST /files/", "PATCH /files/1"])
            }
        }
    }

    @Test func `an upload that vanishes after each creation fails`() async throws {
        try await withTus { receiver, upload, _ in
            receiver.on("/files/1", .answer(404))
            let failure = try await upload.failure()
            #expect(failure.fault == .command)
            #expect(failure.reason.contains("vanish"))
            #expect(receiver.requests(to: "/files/").count == 2)
        }
    }

    @Test func `a 409 leads to a query and a request from the new offset`() async throws {
        try await withTus { receiver, upload, bytes in
            receiver.on("/files/1", .answer(409), .at(1_000_000, of: Self.size), .appended(Self.size))
            _ = try await upload.run()
            #expect(
                receiver.requests.map(\.line) == ["POST /files/", "PATCH /files/1", "HEAD /files/1", "PATCH /files/1"])
            #expect(receiver.requests.last?.sha256 == sha256(Array(bytes[1_000_000...])))
        }
    }

    @Test func `an upload continues after a partially accepted request`() async throws {
        try await withTus { receiver, upload, bytes in
            receiver.on(
                "/files/1", .appended(1000), .at(1000, of: Self.size), .appended(2000), .at(2000, of: Self.size),
                .appended(Self.size))
            _ = try await upload.run()
            #expect(receiver.requests.last?.sha256 == sha256(Array(bytes[2000...])))
        }
    }

    @Test func `an upload fails if the server refuses the offsets that it reports`() async throws {
        try await withTus { receiver, upload, _ in
            receiver.on(
                "/files/1", (0..<20).flatMap { _ in [Behaviour.answer(409), .at(0, of: Self.size)] })
            let failure = try await upload.failure()
            #expect(failure.fault == .command)
            #expect(failure.reason.contains("refuses them"))
        }
    }

    @Test func `a locked upload is queried again after a delay`() async throws {
        try await withTus { receiver, upload, _ in
            receiver.on(
                "/files/1", .answer(423), .at(0, of: Self.size), .answer(423), .at(0, of: Self.size),
                .appended(Self.size))
            let failure = try await upload.failure()
            // The harness permits one delay, and the offset has not grown since.
            #expect(failure.fault == .link)
            #expect(failure.retryAfter == .seconds(5))
            #expect(failure.reason.contains("423"))
            _ = try await upload.run()
        }
    }

    @Test func `the reason names the tus version of the destination`() async throws {
        try await withTus { receiver, upload, _ in
            receiver.on("/files/", .answer(412, headers: ["Tus-Version": "0.2.2"]))
            let failure = try await upload.failure()
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("0.2.2") && failure.reason.contains("1.0.0"))
        }
    }

    @Test(arguments: [
        ("http://other.example.com/files/1", "another destination"),
        ("https://127.0.0.1/files/1", "another destination"),
        ("ftp://127.0.0.1/x", "another destination"), ("", "without a Location"),
    ])
    func `an upload location at another destination is refused`(_ location: String, _ words: String) async throws {
        try await withTus { receiver, upload, _ in
            receiver.on("/files/", .answer(201, headers: location.isEmpty ? [:] : ["Location": location]))
            let failure = try await upload.failure()
            #expect(failure.fault == .final)
            #expect(failure.reason.contains(words), "\(failure.reason)")
            #expect(upload.checkpoint == nil)
            #expect(receiver.requests.count == 1)
        }
    }

    @Test(arguments: [
        ("/files/1", "/files/1"), ("1", "/files/1"), ("./1?a=b", "/files/1?a=b"), ("../up/1", "/up/1"),
        ("?id=1", "/files/?id=1"),
        ("x/../../1#part", "/1"), ("/a/./b/..", "/a/"),
    ])
    func `a relative location is resolved`(_ location: String, _ target: String) async throws {
        try await withTus { receiver, upload, _ in
            receiver.on("/files/", .created(location), .appended(Self.size))
            for path in ["/files/1", "/up/1", "/1", "/a/"] { receiver.on(path, .appended(Self.size)) }
            _ = try await upload.run()
            #expect(receiver.requests.last?.line == "PATCH \(target)")
        }
    }
}
