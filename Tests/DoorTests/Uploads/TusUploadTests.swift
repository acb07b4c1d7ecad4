import Commands
import HTTPTypes
import NIOHTTP1
import Store
import Testing
import Uploads

@testable import Door

struct TusUploadTests {
    private let client = UploadsClient()
    private static let version: HTTPFields = [.tusResumable: "1.0.0"]
    private static let patch: HTTPFields = [.tusResumable: "1.0.0", .contentType: UploadMediaType.tus]

    private func fields(_ more: HTTPFields, _ base: HTTPFields = version) -> HTTPFields {
        var fields = base
        for field in more { fields[field.name] = field.value }
        return fields
    }

    private func create(_ more: HTTPFields = [.uploadLength: "11"]) async throws -> UploadsAnswer {
        try await client.send(.post, "/uploads", fields(more))
    }

    private func patch(_ path: String, _ offset: Int, _ text: String, _ more: HTTPFields = [:]) async throws
        -> UploadsAnswer
    {
        try await client.send(
            .patch, path, fields(more, fields([.uploadOffset: "\(offset)"], Self.patch)), body: Array(text.utf8))
    }

    @Test func `OPTIONS states version, extensions, size and algorithms`() async throws {
        let answer = try await client.send(.options, "/uploads")
        #expect(answer.status == 200)
        #expect(answer[.tusVersion] == "1.0.0" && answer[.tusResumable] == "1.0.0")
        #expect(
            answer[.tusExtension]
                == "creation,creation-with-upload,creation-defer-length,termination,expiration,checksum,checksum-trailer,concatenation"
        )
        #expect(answer[.tusMaxSize] == "1048576")
        #expect(answer[.tusChecksumAlgorithm] == "sha1,sha256,sha512,md5,crc32")
        #expect(answer[.uploadLimit] == "max-size=1048576, max-age=604800")
    }

    @Test func `an upload is created, sent in two requests, and becomes complete`() async throws {
        let metadata = "filename YS5tcDQ=,route bWVkaWE="
        let created = try await create([.uploadLength: "11", .uploadMetadata: metadata])
        #expect(created.status == 201)
        #expect(created[.location] == "https://door.example/base\(created.path)")
        #expect(created[.uploadExpires] == "Thu, 01 Jan 2026 00:00:00 GMT")
        #expect(created[.uploadOffset] == nil)

        let first = try await patch(created.path, 0, "hello ")
        #expect(first.status == 204 && first[.uploadOffset] == "6" && first[.tusResumable] == "1.0.0")
        let open = try await client.send(.head, created.path, Self.version)
        #expect(open.status == 200 && open[.uploadOffset] == "6" && open[.uploadLength] == "11")
        #expect(open[.uploadMetadata] == metadata && open[.cacheControl] == "no-store")

        let last = try await patch(created.path, 6, "world")
        #expect(last.status == 204 && last[.uploadOffset] == "11" && last[.uploadExpires] == nil)
        let id = try #require(created.id)
        let upload = try #require(client.uploads.stored(id))
        #expect(upload.state == .complete && client.uploads.bytes(id) == Array("hello world".utf8))
        #expect(upload.facts.fileName == "a.mp4" && upload.facts.route == "media" && upload.facts.token == "studio")
        #expect(try await client.send(.head, created.path, Self.version)[.uploadOffset] == "11")
    }

    @Test func `a creation may send the first bytes, or all`() async throws {
        let part = try await client.send(
            .post, "/uploads", fields([.uploadLength: "11"], Self.patch), body: Array("hello".utf8))
        #expect(part.status == 201 && part[.uploadOffset] == "5" && part[.location] != nil)
        let whole = try await client.send(
            .post, "/uploads", fields([.uploadLength: "5"], Self.patch), body: Array("hello".utf8))
        #expect(whole.status == 201 && whole[.uploadOffset] == "5")
        #expect(client.uploads.stored(try #require(whole.id))?.state == .complete)
    }

    @Test func `an upload without bytes is complete at its creation`() async throws {
        let created = try await create([.uploadLength: "0", .uploadMetadata: ""])
        #expect(created.status == 201)
        #expect(client.uploads.stored(try #require(created.id))?.state == .complete)
    }

    @Test func `a deferred length is stated once, later`() async throws {
        let created = try await create([.uploadDeferLength: "1"])
        let open = try await client.send(.head, created.path, Self.version)
        #expect(open[.uploadDeferLength] == "1" && open[.uploadLength] == nil)
        #expect(try await patch(created.path, 0, "hello").status == 204)
        #expect(try await patch(created.path, 5, "", [.uploadLength: "5"])[.uploadOffset] == "5")
        #expect(client.uploads.stored(try #require(created.id))?.state == .complete)
    }

    @Test(
        arguments: [
            ([:], 400), ([.uploadLength: "5", .uploadDeferLength: "1"], 400), ([.uploadDeferLength: "2"], 400),
            ([.uploadLength: "-1"], 400), ([.uploadLength: "9223372036854775808"], 400), ([.uploadLength: ""], 400),
            ([.uploadLength: "1048577"], 413), ([.uploadLength: "5", .uploadMetadata: "a !"], 400),
            ([.uploadLength: "5", .uploadMetadata: "route b3RoZXI="], 400),
            ([.uploadLength: "5", .uploadConcat: "x"], 400),
            ([.uploadLength: "5", .tusResumable: "0.2.2"], 412), ([.uploadLength: "5", .idempotencyKey: "a b"], 400),
            ([.uploadLength: "5", .contentType: UploadMediaType.tus, .uploadChecksum: "md4 YQ=="], 400),
        ] as [(HTTPFields, Int)])
    func `a malformed creation is refused, and makes nothing`(more: HTTPFields, status: Int) async throws {
        let answer = try await create(more)
        #expect(answer.status == status && answer[.tusResumable] == "1.0.0" && answer[.location] == nil)
        #expect(client.uploads.all.isEmpty)
        if status == 412 { #expect(answer[.tusVersion] == "1.0.0") }
    }

    @Test(
        arguments: [
            ([.uploadOffset: "5"], "", 409), ([.uploadOffset: "x"], "", 400), ([:], "", 400),
            ([.uploadOffset: "0", .contentType: "text/plain"], "", 415), ([.uploadOffset: "0"], "hello world!", 413),
            ([.uploadOffset: "0", .tusResumable: "2"], "", 412), ([.uploadOffset: "0", .uploadLength: "12"], "", 400),
            ([.uploadOffset: "0", .uploadChecksum: "crc32 AAAAAA=="], "hello", 460),
            ([.uploadOffset: "0", .uploadChecksum: "crc32"], "hello", 400),
        ] as [(HTTPFields, String, Int)])
    func `a refused PATCH leaves the upload as it is`(more: HTTPFields, text: String, status: Int) async throws {
        let created = try await create()
        let answer = try await client.send(
            .patch, created.path, fields(more, Self.patch), body: Array(text.utf8))
        #expect(answer.status == status && answer[.tusResumable] == "1.0.0")
        #expect(client.uploads.stored(try #require(created.id))?.offset == 0)
    }

    @Test func `a PATCH with the right checksum is taken`() async throws {
        let created = try await create()
        let answer = try await patch(created.path, 0, "hello world", [.uploadChecksum: "crc32 DUoRhQ=="])
        #expect(answer.status == 204 && answer[.uploadOffset] == "11")
    }

    @Test(
        arguments: [
            ([.uploadChecksum: "crc32 DUoRhQ=="], 204), ([.uploadChecksum: "crc32 AAAAAA=="], 460),
            ([.uploadChecksum: "crc32"], 400), ([:], 400), (nil, 400),
        ] as [(HTTPFields?, Int)])
    func `a checksum in the trailers is checked where the request announces one`(
        trailers: HTTPFields?, status: Int
    ) async throws {
        var client = client
        client.trailers = trailers
        let created = try await create()
        let fields = fields([.uploadOffset: "0", .trailer: "Digest, upload-checksum"], Self.patch)
        let answer = try await client.send(.patch, created.path, fields, body: Array("hello world".utf8))
        #expect(answer.status == status)
        #expect(client.uploads.stored(try #require(created.id))?.offset == (status == 204 ? 11 : 0))
    }

    @Test(
        arguments: [
            [.trailer: "Upload-Checksum", .uploadChecksum: "crc32 DUoRhQ=="],
            [.contentDigest: "md5=:XrY7u+Ae7tCTyyK7j1rNww==:", .uploadChecksum: "crc32 DUoRhQ=="],
            [.contentDigest: "md5=:AA:"], [.contentEncoding: "gzip"],
        ] as [HTTPFields])
    func `bytes with two checksums, or with a coding, are refused`(more: HTTPFields) async throws {
        let created = try await create()
        let answer = try await patch(created.path, 0, "hello world", more)
        #expect(answer.status == 400 || answer.status == 415)
        #expect(client.uploads.stored(try #require(created.id))?.offset == 0)
        let whole = fields(fields(more, [.uploadLength: "11"]), Self.patch)
        #expect(try await client.send(.post, "/uploads", whole, body: Array("hello world".utf8)).id == nil)
    }

    @Test func `Content-Digest is a checksum of the bytes of a request`() async throws {
        let created = try await create()
        let wrong = try await patch(
            created.path, 0, "hello world", [.contentDigest: "md5=:XrY7u+Ae7tCTyyK7j1rNww==:"])
        #expect(wrong.status == 460)
        #expect(client.uploads.stored(try #require(created.id))?.offset == 0)
    }

    @Test(arguments: [nil, "crc32 DUoRhQ=="])
    func `a creation with bytes, repeated under its key, goes on where the first one was cut`(
        checksum: String?
    ) async throws {
        var fields = fields([.uploadLength: "11", .idempotencyKey: "\"k\"", .contentLength: "11"], Self.patch)
        fields[.uploadChecksum] = checksum
        let cut = UploadsClient.stream([Array("hello ".utf8)], isCut: true)
        let first = try await client.send(.post, "/uploads", fields, body: cut)
        // Bytes that cannot be verified are not kept.
        #expect(client.uploads.stored(try #require(first.id))?.offset == (checksum == nil ? 6 : 0))
        let again = try await client.send(.post, "/uploads", fields, body: Array("hello world".utf8))
        #expect(again.status == 201 && again.id == first.id && again[.uploadOffset] == "11")
        #expect(client.uploads.bytes(try #require(first.id)) == Array("hello world".utf8))
    }

    @Test func `other bytes of a creation under its key are refused, without the URL of the upload`() async throws {
        let fields = fields([.uploadLength: "11", .idempotencyKey: "\"k\"", .contentLength: "11"], Self.patch)
        let cut = UploadsClient.stream([Array("hello ".utf8)], isCut: true)
        let first = try await client.send(.post, "/uploads", fields, body: cut)
        let other = try await client.send(.post, "/uploads", fields, body: Array("HELLO world".utf8))
        #expect(other.status == 422 && other[.location] == nil)
        #expect(client.uploads.stored(try #require(first.id))?.offset == 6)
    }

    @Test func `what a PATCH states of the whole upload reaches the engine`() throws {
        let digest = "md5=:XrY7u+Ae7tCTyyK7j1rNww==:"
        let append = try TusReader.append(
            fields([.uploadOffset: "0", .uploadMetadata: "filename YQ==", .reprDigest: digest], Self.patch))
        #expect(append.metadata == "filename YQ==" && append.digest?.algorithm == .md5)
    }

    @Test func `the wanted digest is answered when the upload is complete`() async throws {
        var client = client
        client.options.digest = { _, algorithm in UploadDigest(algorithm, Array(repeating: 7, count: algorithm.size)) }
        let created = try await client.send(
            .post, "/uploads", fields([.uploadLength: "2", .wantReprDigest: "md5=1"], Self.patch), body: [1])
        #expect(created[.reprDigest] == nil)
        let last = try await client.send(
            .patch, created.path, fields([.uploadOffset: "1"], Self.patch), body: [2])
        #expect(last.status == 204 && last[.reprDigest] == "md5=:BwcHBwcHBwcHBwcHBwcHBw==:")
    }

    @Test func `a finished part says when it expires`() async throws {
        let part = try await create([.uploadLength: "2", .uploadConcat: "partial"])
        let id = try #require(part.id)
        var upload = try #require(client.uploads.stored(id))
        (upload.state, upload.due) = (.complete, Timestamp(milliseconds: 1_767_225_600_000))
        client.uploads.insert(upload, bytes: [1, 2])
        let head = try await client.send(.head, part.path, Self.version)
        #expect(head[.uploadOffset] == "2" && head[.uploadExpires] == "Thu, 01 Jan 2026 00:00:00 GMT")
    }

    @Test func `the last PATCH may be repeated without bytes`() async throws {
        let created = try await create()
        _ = try await patch(created.path, 0, "hello world")
        let repeated = try await patch(created.path, 11, "")
        #expect(repeated.status == 204 && repeated[.uploadOffset] == "11")
        #expect(try await patch(created.path, 11, "more").status == 413)
        #expect(try await patch(created.path, 0, "hello world").status == 409)
    }

    @Test func `a PATCH leaves the reading of its row to the append`() async throws {
        let created = try await create()
        #expect(try await patch(created.path, 0, "hello ").status == 204)
        #expect(try await patch(created.path, 6, "world").status == 204)
        // The answer to a repeat does not take a second look either.
        #expect(try await patch(created.path, 11, "").status == 204)
        #expect(client.uploads.calls == [.create, .append, .append, .append])
    }

    @Test func `a chunked PATCH is taken, and an empty chunked one repeats the last`() async throws {
        let created = try await create()
        let chunked = fields([.transferEncoding: "chunked", .uploadOffset: "0"], Self.patch)
        let chunks = [Array("hello ".utf8), Array("world".utf8)]
        let answer = try await client.send(.patch, created.path, chunked, body: UploadsClient.stream(chunks))
        #expect(answer.status == 204 && answer[.uploadOffset] == "11")
        let again = fields([.transferEncoding: "chunked", .uploadOffset: "11"], Self.patch)
        #expect(try await client.send(.patch, created.path, again, body: UploadsClient.stream([])).status == 204)
    }

    @Test func `a cut PATCH keeps its bytes, and HEAD states them`() async throws {
        let created = try await create()
        let cut = fields([.contentLength: "11", .uploadOffset: "0"], Self.patch)
        let body = UploadsClient.stream([Array("hello".utf8)], isCut: true)
        #expect(try await client.send(.patch, created.path, cut, body: body).status == 423)
        #expect(try await client.send(.head, created.path, Self.version)[.uploadOffset] == "5")
    }

    @Test(arguments: [(ConnectionError.slowBody, 423), (HTTPParserError.invalidChunkSize, 400)] as [(any Error, Int)])
    func `a PATCH that ends early keeps its bytes and says why`(error: any Error, status: Int) async throws {
        let created = try await create()
        let fields = fields([.contentLength: "11", .uploadOffset: "0"], Self.patch)
        let body = UploadsClient.stream([Array("hello".utf8)], error: error)
        let answer = try await client.send(.patch, created.path, fields, body: body)
        #expect(answer.status == status && answer.detail?.contains("cut") == false, "\(answer)")
        #expect(client.uploads.stored(try #require(created.id))?.offset == 5)
    }

    @Test func `an error after the creation carries the location`() async throws {
        client.uploads.fail(.append, .noSpace)
        let answer = try await client.send(
            .post, "/uploads", fields([.uploadLength: "5"], Self.patch), body: Array("hello".utf8))
        #expect(answer.status == 507 && answer.id != nil && answer[.tusResumable] == "1.0.0")
    }

    @Test(
        arguments: [
            (.notFound, 404), (.gone, 410), (.unavailable, 423), (.failed, 423), (.noSpace, 423),
        ] as [(UploadError.Code, Int)])
    func `HEAD never answers 5xx`(code: UploadError.Code, status: Int) async throws {
        let created = try await create()
        client.uploads.fail(.upload, code)
        for fields in [Self.version, [:]] {
            let answer = try await client.send(.head, created.path, fields)
            #expect(answer.status == status && answer[.uploadOffset] == nil)
        }
    }

    @Test(
        arguments: [
            (.unavailable, 503), (.failed, 500), (.noSpace, 507), (.gone, 410), (.keyInUse, 409),
            (.keyConflict, 422), (.inconsistentStatement, 422),
        ] as [(UploadError.Code, Int)])
    func `each error of the engine has a status`(code: UploadError.Code, status: Int) async throws {
        client.uploads.fail(.create, code)
        let answer = try await create()
        #expect(answer.status == status && answer[.tusResumable] == "1.0.0")
        #expect((answer[.retryAfter] != nil) == (code == .unavailable))
    }

    @Test func `DELETE answers 204, and the upload is gone`() async throws {
        let created = try await create()
        #expect(try await client.send(.delete, created.path, Self.version).status == 204)
        #expect(try await client.send(.head, created.path, Self.version).status == 410)
        #expect(try await patch(created.path, 0, "a").status == 410)
    }

    @Test func `a complete upload is not terminated`() async throws {
        let created = try await create([.uploadLength: "0"])
        #expect(try await client.send(.delete, created.path, Self.version).status == 409)
    }

    @Test func `an upload of the draft with all bytes is not shown as complete before it is`() async throws {
        var facts = UploadFacts(origin: .resumable)
        facts.token = "studio"
        let upload = client.uploads.insert(
            Upload(id: CommandID(), length: 5, facts: facts, createdAt: .now), bytes: Array("hello".utf8))
        let tus = try await client.send(.head, "/uploads/\(upload.id)", Self.version)
        #expect(tus.status == 423 && tus[.uploadOffset] == nil)
        let unmarked = try await client.send(.head, "/uploads/\(upload.id)")
        #expect(unmarked.status == 200 && unmarked[.uploadOffset] == "5" && unmarked[.uploadComplete] == "?0")
        #expect(unmarked[.uploadLength] == nil && unmarked[.tusResumable] == nil)
    }

    @Test(arguments: [[.tusResumable: "1.0.0"], [:]] as [HTTPFields])
    func `HEAD completes an upload of tus that has all bytes, or answers 423`(fields: HTTPFields) async throws {
        var facts = UploadFacts(origin: .tus)
        facts.token = "studio"
        let upload = client.uploads.insert(
            Upload(id: CommandID(), length: 5, facts: facts, createdAt: .now), bytes: Array("hello".utf8))
        client.uploads.fail(.append, .unavailable)
        let busy = try await client.send(.head, "/uploads/\(upload.id)", fields)
        #expect(busy.status == 423 && busy[.uploadOffset] == nil)
        client.uploads.repair(.append)
        let answer = try await client.send(.head, "/uploads/\(upload.id)", fields)
        #expect(answer.status == 200 && answer[.uploadOffset] == "5" && answer[.uploadLength] == "5")
        #expect(client.uploads.stored(upload.id)?.state == .complete)
    }

    @Test func `HEAD without a protocol answers the fields of all`() async throws {
        let created = try await create()
        let answer = try await client.send(.head, created.path)
        #expect(answer.status == 200 && answer[.uploadOffset] == "0" && answer[.uploadLength] == "11")
        #expect(answer[.tusResumable] == "1.0.0" && answer[.uploadComplete] == "?0" && answer[.uploadLimit] != nil)
    }

    @Test func `parts are joined`() async throws {
        var paths: [String] = []
        for text in ["hello ", "world"] {
            let part = try await create([.uploadLength: "\(text.utf8.count)", .uploadConcat: "partial"])
            #expect(try await client.send(.head, part.path, Self.version)[.uploadConcat] == "partial")
            #expect(try await patch(part.path, 0, text).status == 204)
            paths.append(part.path)
        }
        let final = try await create([.uploadConcat: "final;\(paths.joined(separator: " "))"])
        #expect(final.status == 201)
        #expect(client.uploads.bytes(try #require(final.id)) == Array("hello world".utf8))
        let head = try await client.send(.head, final.path, Self.version)
        #expect(head[.uploadConcat] == "final;" + paths.map { "https://door.example/base\($0)" }.joined(separator: " "))
        #expect(head[.uploadOffset] == "11" && head[.uploadLength] == "11")
        #expect(try await patch(final.path, 11, "a").status == 403)
    }

    @Test func `a final upload needs complete parts, and takes neither bytes nor a length`() async throws {
        let part = try await create([.uploadLength: "5", .uploadConcat: "partial"])
        let final: HTTPFields = [.uploadConcat: "final;\(part.path)"]
        #expect(try await create(final).status == 400)
        #expect(try await create([.uploadConcat: "final;\(part.path)", .uploadLength: "5"]).status == 400)
        let body = try await client.send(.post, "/uploads", fields(final), body: [1])
        #expect(body.status == 403)
        let unknown = try await create([.uploadConcat: "final;/uploads/0199aaaa-0000-7000-8000-000000000001"])
        #expect(unknown.status == 404)
    }

    @Test func `the same idempotency key returns the same upload`() async throws {
        let first = try await create([.uploadLength: "11", .idempotencyKey: "\"k\""])
        let second = try await create([.uploadLength: "11", .idempotencyKey: "k"])
        #expect(first.id == second.id && second.status == 201)
        #expect(try await create([.uploadLength: "12", .idempotencyKey: "k"]).status == 422)
        var other = client
        other.principal = Principal(token: "phone", name: "Phone", scopes: [.upload])
        let third = try await other.send(.post, "/uploads", fields([.uploadLength: "11", .idempotencyKey: "k"]))
        #expect(third.id != first.id)
    }

    @Test(arguments: [(.head, 503, 423), (.patch, 503, 503), (.head, 404, 404)] as [(HTTPRequest.Method, Int, Int)])
    func `responses of the dispatcher have the field of tus too`(
        method: HTTPRequest.Method, status: Int, decorated: Int
    ) throws {
        let answer = try client.decorated(method, [.tusResumable: "1.0.0"], status: status)
        #expect(answer.status == decorated && answer[.tusResumable] == "1.0.0")
        let plain = try client.decorated(method, [:], status: status)
        #expect(plain.status == status && plain[.tusResumable] == nil)
    }

    @Test func `the response to the last bytes names the command`() async throws {
        let created = try await create([.uploadLength: "5", .uploadMetadata: "route bWVkaWE="])
        #expect(created[.sluiceCommandID] == nil)
        #expect(try await patch(created.path, 0, "hello")[.sluiceCommandID] == created.id.map { "\($0)" })
    }

    @Test func `tus does not create by PUT`() async throws {
        #expect(try await client.send(.put, "/uploads", fields([.uploadLength: "5"])).status == 405)
    }
}
