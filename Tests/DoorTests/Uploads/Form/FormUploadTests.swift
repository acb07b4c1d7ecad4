import Commands
import HTTPTypes
import Store
import Testing
import Uploads

@testable import Door

struct FormUploadTests {
    private let client = UploadsClient()
    private static let type: HTTPFields = [.contentType: "multipart/form-data; boundary=b"]

    private static func field(_ name: String, _ value: String) -> String {
        "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
    }

    private static func file(_ name: String, _ text: String) -> String {
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(name)\"\r\nContent-Type: text/plain\r\n\r\n"
            + "\(text)\r\n"
    }

    private func send(_ form: String, _ more: HTTPFields = [:]) async throws -> UploadsAnswer {
        var fields = Self.type
        for field in more { fields[field.name] = field.value }
        return try await client.send(.post, "/uploads", fields, body: Array(form.utf8))
    }

    @Test func `a file of a form becomes an upload`() async throws {
        let answer = try await send(Self.field("route", "media") + Self.file("a.txt", "hello") + "--b--\r\n")
        let id = try #require(answer.id)
        #expect(answer.status == 201)
        #expect(answer.body == ["id": .string("\(id)"), "state": "complete", "size": 5, "command": .string("\(id)")])
        let upload = try #require(client.uploads.stored(id))
        #expect(upload.facts.origin == .form && upload.facts.route == "media" && upload.facts.fileName == "a.txt")
        #expect(upload.facts.contentType == "text/plain" && client.uploads.bytes(id) == Array("hello".utf8))
    }

    @Test func `a form in small chunks is the same form`() async throws {
        let form = Array((Self.file("a.txt", "hello\r\n--world") + Self.file("b", "") + "--b--").utf8)
        let body = UploadsClient.stream(form.map { [$0] })
        let answer = try await client.send(.post, "/uploads", Self.type, body: body)
        #expect(answer.status == 201)
        #expect(answer.body?["uploads"]?.elements?.map { $0["size"] } == [14, 0])
        #expect(client.uploads.all.map { client.uploads.bytes($0.id) } == [Array("hello\r\n--world".utf8), []])
    }

    @Test func `a name that looks like a path is only text`() async throws {
        let answer = try await send(Self.file("../../etc/passwd", "x") + "--b--")
        #expect(client.uploads.stored(try #require(answer.id))?.facts.fileName == "../../etc/passwd")
    }

    @Test func `a part where no file was chosen is left out`() async throws {
        #expect(try await send(Self.file("", "") + Self.file("a", "x") + "--b--").body?["size"] == 1)
        let none = try await send(Self.file("", "") + "--b--")
        #expect(none.status == 400 && none.problem == "invalid-form")
    }

    @Test func `a part with bytes and an empty name is a file without a name`() async throws {
        let answer = try await send(Self.file("", "xyz") + "--b--")
        #expect(answer.status == 201)
        #expect(client.uploads.bytes(try #require(answer.id)) == Array("xyz".utf8))
        #expect(client.uploads.all.map(\.facts.fileName) == [nil])
    }

    @Test(arguments: [
        file("a", "hello"), field("route", "media"), "", "--b", field("route", "other") + file("a", "x") + "--b--",
        file("a", "hello") + "--bc--", field("x", String(repeating: "a", count: 65_537)) + file("a", "x") + "--b--",
        file("a\u{7F}", "x") + "--b--",
    ])
    func `a cut or malformed form leaves no upload`(form: String) async throws {
        let answer = try await send(form)
        #expect(answer.status == 400 || answer.status == 413)
        #expect(client.uploads.all.allSatisfy { $0.state == .ended || $0.state == .complete && form.contains("--bc") })
    }

    @Test func `an error names the files that are complete`() async throws {
        let answer = try await send(Self.file("a", "hello") + Self.file("b", "cut"))
        #expect(answer.status == 400)
        #expect(answer.members.first?.name == "uploads" && answer.members.first?.value.elements?.count == 1)
        #expect(client.uploads.all.map(\.state) == [.complete, .ended])
    }

    @Test(arguments: ["route", "name"])
    func `a field that no file follows is refused, with the files that were taken without it`(
        name: String
    ) async throws {
        let answer = try await send(Self.file("a", "x") + Self.field(name, "media") + "--b--")
        #expect(answer.status == 400 && answer.problem == "invalid-form")
        #expect(answer.members.first?.value.elements?.count == 1)
        #expect(try await send(Self.file("a", "x") + Self.field(name, "") + "--b--").status == 201)
    }

    @Test func `a route applies to the files after it, and a name to the next one`() async throws {
        let form = Self.field("route", "media") + Self.field("name", "n") + Self.file("a", "x")
        _ = try await send(form + Self.file("b", "y") + Self.field("route", "archive") + Self.file("c", "z") + "--b--")
        #expect(client.uploads.all.map(\.facts.fileName) == ["n", "b", "c"])
        #expect(client.uploads.all.map(\.facts.route) == ["media", "media", "archive"])
    }

    @Test(
        arguments: [
            ([.contentDigest: "md5=:XUFAKrxLKna5cZ2REBfFkg==:"], 400), ([.contentEncoding: "gzip"], 415),
            ([.reprDigest: "md5=:XUFAKrxLKna5cZ2REBfFkg==:"], 400),
        ] as [(HTTPFields, Int)])
    func `a form whose digest or coding would be left unread is refused`(more: HTTPFields, status: Int) async throws {
        #expect(try await send(Self.file("a", "hello") + "--b--", more).status == status)
        #expect(client.uploads.all.isEmpty)
    }

    @Test func `the same form with an idempotency key returns the same uploads`() async throws {
        let form = Self.file("a", "hello") + Self.file("b", "world") + "--b--"
        let first = try await send(form, [.idempotencyKey: "k"])
        let second = try await send(form, [.idempotencyKey: "k"])
        #expect(first.status == 201 && second.body == first.body && client.uploads.all.count == 2)
    }

    @Test func `a form with the fields of the draft is taken whole, without 104`() async throws {
        let form = Self.file("a", "hello") + "--b--"
        let answer = try await send(form, [.uploadDraftInteropVersion: "8", .uploadComplete: "?1"])
        #expect(answer.status == 201 && answer.interim.isEmpty && answer.body?["size"] == 5)
        let part = try await send(form, [.uploadDraftInteropVersion: "8", .uploadComplete: "?0"])
        #expect(part.status == 400 && client.uploads.all.count == 1)
    }
}
