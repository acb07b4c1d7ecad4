import Commands
import HTTPTypes
import NIOHTTP1
import Store
import Testing
import Uploads

@testable import Door

struct PlainUploadTests {
    private let client = UploadsClient()

    @Test(arguments: [HTTPRequest.Method.post, .put])
    func `a body becomes an upload`(method: HTTPRequest.Method) async throws {
        let answer = try await client.send(
            method, "/uploads", [.contentType: "image/png"], query: [("route", "media"), ("name", "a b.png")],
            body: Array("hello".utf8))
        let id = try #require(answer.id)
        #expect(answer.status == 201 && answer[.location] == "https://door.example/base/uploads/\(id)")
        #expect(answer.body == ["id": .string("\(id)"), "state": "complete", "size": 5, "command": .string("\(id)")])
        let facts = try #require(client.uploads.stored(id)).facts
        #expect(facts.origin == .plain && facts.fileName == "a b.png" && facts.contentType == "image/png")
        #expect(answer[.uploadComplete] == nil && answer[.tusResumable] == nil)
    }

    @Test func `an empty body becomes an upload, without a route not a command`() async throws {
        let answer = try await client.send(.post, "/uploads")
        #expect(answer.status == 201 && answer.body?["size"] == 0 && answer.body?["command"] == .null)
    }

    @Test func `a chunked body becomes an upload`() async throws {
        let body = UploadsClient.stream([Array("hello ".utf8), [], Array("world".utf8)])
        let answer = try await client.send(.put, "/uploads", [.transferEncoding: "chunked"], body: body)
        #expect(answer.status == 201)
        #expect(client.uploads.bytes(try #require(answer.id)) == Array("hello world".utf8))
    }

    @Test func `the name may be in the fields`() async throws {
        let answer = try await client.send(
            .post, "/uploads", [.contentDisposition: "attachment; filename=\"x.txt\""], body: [1])
        #expect(client.uploads.stored(try #require(answer.id))?.facts.fileName == "x.txt")
    }

    @Test func `the last part of the path is the name, and other sources have precedence`() async throws {
        let named = try await client.send(.put, "/uploads/a b.png", body: [1])
        #expect(named.status == 201 && named[.location]?.hasSuffix("/a b.png") == false)
        #expect(client.uploads.stored(try #require(named.id))?.facts.fileName == "a b.png")
        let both = try await client.send(.put, "/uploads/a.png", query: [("name", "b.png")], body: [1])
        #expect(client.uploads.stored(try #require(both.id))?.facts.fileName == "b.png")
        let refused = try await client.send(.put, "/uploads/a\u{1}b", body: [1])
        #expect(refused.status == 400)
    }

    @Test func `PUT does not replace an upload`() async throws {
        let id = try #require(try await client.send(.post, "/uploads", body: Array("old".utf8)).id)
        for id in [id, CommandID()] {
            let answer = try await client.send(.put, "/uploads/\(id)", body: [1])
            #expect(answer.status == 405 && answer[.allow] == "DELETE, GET, HEAD, OPTIONS, PATCH")
        }
        #expect(client.uploads.bytes(id) == Array("old".utf8) && client.uploads.all.count == 1)
    }

    @Test(arguments: [
        ("name", "a\nb"), ("name", String(repeating: "a", count: 4097)), ("route", "other"), ("route", ""),
    ])
    func `a refused name or route makes nothing`(name: String, value: String) async throws {
        let answer = try await client.send(.post, "/uploads", query: [(name, value)], body: [1])
        #expect(answer.status == 400 && client.uploads.all.isEmpty)
    }

    @Test func `a length that does not fit is refused`() async throws {
        let answer = try await client.send(.post, "/uploads", [.contentLength: "9223372036854775808"], body: [1])
        #expect(answer.status == 400 && client.uploads.all.isEmpty)
    }

    @Test(
        arguments: [
            ([.contentRange: "bytes 0-4/11"], 400), ([.contentEncoding: "gzip"], 415),
            ([.contentEncoding: "gzip", .uploadComplete: "?1"], 415), ([.contentEncoding: "identity"], 201),
        ] as [(HTTPFields, Int)])
    func `a part of a file, and a coded one, are not taken for the file`(fields: HTTPFields, status: Int) async throws {
        #expect(try await client.send(.put, "/uploads", fields, body: Array("hello".utf8)).status == status)
        #expect(client.uploads.all.count == (status == 201 ? 1 : 0))
    }

    @Test func `a cut body is deleted`() async throws {
        let body = UploadsClient.stream([Array("hello".utf8)], isCut: true)
        let answer = try await client.send(.post, "/uploads", [.contentLength: "11"], body: body)
        #expect(answer.status == 400 && client.uploads.all.map(\.state) == [.ended])
        #expect(answer.detail == "The request was cut; its bytes were dropped; send it again.")
    }

    @Test func `a request that the door stops may be sent again`() async throws {
        let body = UploadsClient.stream([Array("hello".utf8)], error: CancellationError())
        let answer = try await client.send(.post, "/uploads", [.contentLength: "11"], body: body)
        #expect(answer.status == 503 && answer[.retryAfter] != nil && client.uploads.all.map(\.state) == [.ended])
    }

    @Test func `a body that ends early is cut`() async throws {
        let body = UploadsClient.stream([Array("hello".utf8)])
        let answer = try await client.send(.post, "/uploads", [.contentLength: "11"], body: body)
        #expect(answer.status == 400 && client.uploads.all.map(\.state) == [.ended])
    }

    @Test func `a cut body with an idempotency key goes on when it is sent again`() async throws {
        let fields: HTTPFields = [.contentLength: "11", .idempotencyKey: "\"k\""]
        let cut = UploadsClient.stream([Array("hel".utf8), Array("lo ".utf8)], isCut: true)
        #expect(try await client.send(.post, "/uploads", fields, body: cut).status == 400)
        #expect(client.uploads.all.map(\.offset) == [6])
        let whole = [Array("hello wo".utf8), Array("rld".utf8)]
        let answer = try await client.send(.post, "/uploads", fields, body: UploadsClient.stream(whole))
        #expect(answer.status == 201)
        #expect(client.uploads.bytes(try #require(answer.id)) == Array("hello world".utf8))
        let again = try await client.send(.post, "/uploads", fields, body: UploadsClient.stream(whole))
        #expect(again.status == 201 && again.body == answer.body && client.uploads.all.count == 1)
    }

    @Test func `other bytes under a key are refused, before and after the completion`() async throws {
        let fields: HTTPFields = [.contentLength: "11", .idempotencyKey: "\"k\""]
        let cut = UploadsClient.stream([Array("hello ".utf8)], isCut: true)
        _ = try await client.send(.post, "/uploads", fields, body: cut)
        let other = try await client.send(.post, "/uploads", fields, body: Array("HELLO world".utf8))
        #expect(other.status == 422 && other.problem == "idempotency-key-conflict" && other[.location] == nil)
        #expect(client.uploads.all.map(\.offset) == [6])
        let whole = try await client.send(.post, "/uploads", fields, body: Array("hello world".utf8))
        #expect(whole.status == 201)
        let late = try await client.send(.post, "/uploads", fields, body: Array("hello WORLD".utf8))
        let id = try #require(whole.id)
        #expect(late.status == 422 && client.uploads.bytes(id) == Array("hello world".utf8))
    }

    @Test(
        arguments: [
            (ConnectionError.slowBody, 408, "slow-body"), (ConnectionError.cut, 400, "upload-interrupted"),
            (HTTPParserError.invalidChunkSize, 400, "bad-request"),
        ] as [(any Error, Int, String)])
    func `a body that ends early is answered by its cause`(error: any Error, status: Int, problem: String) async throws
    {
        let body = UploadsClient.stream([Array("hello".utf8)], error: error)
        let answer = try await client.send(.post, "/uploads", [.transferEncoding: "chunked"], body: body)
        #expect(answer.status == status && answer.problem == problem)
        #expect(client.uploads.all.map(\.state) == [.ended])
    }

    @Test func `an empty name is none`() async throws {
        let answer = try await client.send(.put, "/uploads/a.txt", query: [("name", "")], body: [1])
        #expect(client.uploads.stored(try #require(answer.id))?.facts.fileName == "a.txt")
        let unnamed = try await client.send(.post, "/uploads", query: [("name", "")], body: [1])
        #expect(client.uploads.stored(try #require(unnamed.id))?.facts.fileName == nil)
    }

    @Test func `a repeated request stops the one before, which may run on a dead connection`() async throws {
        _ = try await client.send(.post, "/uploads", [.idempotencyKey: "\"k\""], body: Array("hello".utf8))
        #expect(client.uploads.calls == [.create, .append])
    }

    @Test func `two digests of a body are the same one, or are refused`() async throws {
        let (one, other) = ("md5=:XUFAKrxLKna5cZ2REBfFkg==:", "md5=:XrY7u+Ae7tCTyyK7j1rNww==:")
        let equal: HTTPFields = [.reprDigest: one, .contentDigest: one]
        let answer = try await client.send(.post, "/uploads", equal, body: Array("hello".utf8))
        #expect(client.uploads.stored(try #require(answer.id))?.facts.digest?.algorithm == .md5)
        let different: HTTPFields = [.reprDigest: one, .contentDigest: other]
        let refused = try await client.send(.post, "/uploads", different, body: Array("hello".utf8))
        #expect(refused.problem == "invalid-digest" && client.uploads.all.count == 1)
    }

    @Test func `the wanted digest is answered`() async throws {
        var client = client
        client.options.digest = { upload, algorithm in
            UploadDigest(algorithm, Array(repeating: UInt8(upload.offset), count: algorithm.size))
        }
        let answer = try await client.send(.post, "/uploads", [.wantReprDigest: "md5=1"], body: Array("hello".utf8))
        #expect(answer[.reprDigest] == "md5=:BQUFBQUFBQUFBQUFBQUFBQ==:")
        #expect(try await client.send(.post, "/uploads", body: [1])[.reprDigest] == nil)
        let stated: HTTPFields = [.wantReprDigest: "md5=1", .contentDigest: "md5=:XrY7u+Ae7tCTyyK7j1rNww==:"]
        #expect(try await client.send(.post, "/uploads", stated, body: [1])[.reprDigest] == stated[.contentDigest])
    }

    @Test(
        arguments: [
            (.unavailable, 503), (.failed, 500), (.noSpace, 507), (.digestMismatch, 400), (.tooLarge(limit: 5), 413),
            (.keyInUse, 409), (.invalid, 400),
        ] as [(UploadError.Code, Int)])
    func `each error of the engine has a status`(code: UploadError.Code, status: Int) async throws {
        client.uploads.fail(.append, code)
        #expect(try await client.send(.post, "/uploads", body: [1]).status == status)
    }
}
