import Commands
import HTTPTypes
import Store
import Testing
import Uploads

@testable import Door

struct UploadsAccessTests {
    private let client = UploadsClient()

    private func acting(_ token: String, _ scopes: Set<Scope>) -> UploadsClient {
        var other = client
        other.principal = Principal(token: token, name: token, scopes: scopes)
        return other
    }

    private func open() async throws -> UploadsAnswer {
        try await client.send(.post, "/uploads", [.tusResumable: "1.0.0", .uploadLength: "5"])
    }

    private static let patch: HTTPFields = [
        .tusResumable: "1.0.0", .contentType: UploadMediaType.tus, .uploadOffset: "0",
    ]

    @Test(
        arguments: [
            (.head, [.upload], 404), (.get, [.upload], 404), (.patch, [.upload], 404), (.delete, [.upload], 404),
            (.head, [.read], 200), (.get, [.read], 200), (.patch, [.read], 403), (.delete, [.read], 403),
            (.delete, [.control], 204), (.head, [.control], 403), (.patch, [.upload, .read, .control], 404),
            (.head, [.metrics], 403),
        ] as [(HTTPRequest.Method, Set<Scope>, Int)])
    func `the uploads of another token are not there without a scope`(
        method: HTTPRequest.Method, scopes: Set<Scope>, status: Int
    ) async throws {
        let path = try await open().path
        let fields = method == .patch ? Self.patch : [.tusResumable: "1.0.0"]
        let answer = try await acting("phone", scopes).send(method, path, fields, body: method == .patch ? [1] : [])
        #expect(answer.status == status)
        if status == 404 {
            let unknown = "/uploads/0199aaaa-0000-7000-8000-000000000001"
            let other = try await acting("phone", scopes).send(method, unknown, fields, body: [])
            #expect(other.status == 404 && other.problem == answer.problem, "the answer does not tell that it exists")
        }
    }

    @Test func `the uploads of a token belong to the next token of its name`() async throws {
        let key: HTTPFields = [.tusResumable: "1.0.0", .uploadLength: "5", .idempotencyKey: "\"k\""]
        let owner = try #require(client.principal?.owner)
        let path = try await client.send(.post, "/uploads", key).path
        var next = acting("0123456789", [.upload])
        #expect(try await next.send(.head, path, [.tusResumable: "1.0.0"]).status == 404)
        next.principal?.owner = owner
        #expect(try await next.send(.head, path, [.tusResumable: "1.0.0"]).status == 200)
        #expect(try await next.send(.post, "/uploads", key).path == path, "the key is that of the name too")
        let other = try await next.send(.post, "/uploads", [.tusResumable: "1.0.0", .uploadLength: "5"]).path
        #expect(try await client.send(.head, other, [.tusResumable: "1.0.0"]).status == 200)
    }

    @Test func `the parts of a final upload are of the same token`() async throws {
        let part = try await client.send(
            .post, "/uploads", [.tusResumable: "1.0.0", .uploadLength: "0", .uploadConcat: "partial"])
        let final: HTTPFields = [.tusResumable: "1.0.0", .uploadConcat: "final;\(part.path)"]
        #expect(try await acting("phone", [.upload]).send(.post, "/uploads", final).status == 404)
        #expect(try await client.send(.post, "/uploads", final).status == 201)
    }

    @Test(arguments: ["", "1", "0199aaaa-0000-7000-8000-00000000000g", "..", "0199AAAA00007000800000000000001"])
    func `a text that is not an id is not there`(id: String) async throws {
        guard !id.isEmpty else { return }
        #expect(try await client.send(.head, "/uploads/\(id)", [.tusResumable: "1.0.0"]).status == 404)
        #expect(client.uploads.calls.isEmpty)
    }

    @Test func `without tokens each client sees the uploads`() async throws {
        var client = client
        client.principal = nil
        let created = try await client.send(.post, "/uploads", body: [1])
        #expect(try await client.send(.get, created.path).status == 200)
    }

    @Test func `GET describes an upload, without its token and metadata`() async throws {
        let created = try await client.send(
            .post, "/uploads",
            [.tusResumable: "1.0.0", .uploadLength: "5", .uploadMetadata: "filename YQ==,secret YWJj"],
            query: [("route", "media")])
        let answer = try await client.send(.get, created.path)
        #expect(answer.status == 200 && answer[.uploadOffset] == "0" && answer[.cacheControl] == "no-store")
        #expect(answer.body?["state"] == "open" && answer.body?["length"] == 5 && answer.body?["fileName"] == "a")
        #expect(answer.body?["protocol"] == "tus" && answer.body?["route"] == "media")
        #expect(answer.body?["expiresAt"] == "2026-01-01T00:00:00.000Z")
        let text = answer.body?.text ?? ""
        #expect(!text.contains("YWJj") && !text.contains("studio"))
    }

    /// A client of a door that looks uploads up without stopping their requests.
    private var looking: UploadsClient {
        var client = client
        client.options.find = { [uploads = client.uploads] id in
            guard let upload = uploads.stored(id) else { throw UploadError(.notFound, "There is no such upload.") }
            return upload
        }
        return client
    }

    @Test(arguments: [[.tusResumable: "1.0.0"], [.uploadDraftInteropVersion: "9"], [:]] as [HTTPFields])
    func `a look by a token that may only read stops no request`(fields: HTTPFields) async throws {
        var client = looking
        let created = try await client.send(.post, "/uploads", [.tusResumable: "1.0.0", .uploadLength: "5"])
        client.principal = Principal(token: "pages", name: "pages", scopes: [.read])
        #expect(try await client.send(.head, created.path, fields)[.uploadOffset] == "0")
        #expect(client.uploads.calls == [.create])
    }

    @Test(arguments: [UploadProtocol.plain, .form])
    func `a look stops no request that cannot be resumed`(origin: UploadProtocol) async throws {
        let client = looking
        var facts = UploadFacts(origin: origin)
        facts.token = "studio"
        let upload = client.uploads.insert(Upload(id: CommandID(), length: 5, facts: facts, createdAt: .now))
        #expect(try await client.send(.head, "/uploads/\(upload.id)").status == 200)
        #expect(client.uploads.calls.isEmpty)
    }

    @Test func `a look without taking over asks the engine only for HEAD`() async throws {
        let client = looking
        let uploads = client.uploads
        let created = try await client.send(.post, "/uploads", [.tusResumable: "1.0.0", .uploadLength: "5"])
        _ = try await client.send(.get, created.path)
        _ = try await client.send(.patch, created.path, Self.patch, body: [1])
        #expect(uploads.calls == [.create, .append])
        _ = try await client.send(.head, created.path)
        #expect(uploads.calls == [.create, .append, .upload])
    }

    @Test(
        arguments: [
            (["media"], "media", 201), (["media"], "archive", 400), (["media"], nil, 400), (nil, "archive", 201),
            (nil, nil, 201), (nil, "other", 400), (["removed"], "removed", 400), ([], nil, 400),
        ] as [(Set<String>?, String?, Int)])
    func `an upload takes a route that its token may use`(
        permitted: Set<String>?, route: String?, status: Int
    ) async throws {
        var client = client
        client.principal?.routes = permitted
        let query = route.map { [("route", $0)] } ?? []
        let answer = try await client.send(.post, "/uploads", query: query, body: [1])
        #expect(answer.status == status)
        guard status == 400 else { return }
        let names = (permitted.map { $0.intersection(["archive", "media"]) } ?? ["archive", "media"]).sorted()
        #expect(answer.members == [.init("routes", .array(names.map { .string($0) }))])
        #expect(client.uploads.all.isEmpty)
    }

    @Test(
        arguments: [
            [.tusResumable: "1.0.0", .contentType: UploadMediaType.tus],
            [.uploadComplete: "?1", .contentType: UploadMediaType.partialUpload],
        ] as [HTTPFields])
    func `a token that has lost the route does not complete the upload`(fields: HTTPFields) async throws {
        var client = client
        client.principal?.routes = ["media"]
        let created = try await client.send(
            .post, "/uploads", [.tusResumable: "1.0.0", .uploadLength: "1"], query: [("route", "media")])
        client.principal?.routes = ["archive"]
        var fields = fields
        fields[.uploadOffset] = "0"
        #expect(try await client.send(.patch, created.path, fields, body: [1]).status == 403)
        client.principal?.routes = ["media"]
        #expect([201, 204].contains(try await client.send(.patch, created.path, fields, body: [1]).status))
    }

    @Test func `the query and the metadata name one route`() async throws {
        let fields: HTTPFields = [.tusResumable: "1.0.0", .uploadLength: "5", .uploadMetadata: "route bWVkaWE="]
        #expect(try await client.send(.post, "/uploads", fields, query: [("route", "media")]).status == 201)
        #expect(try await client.send(.post, "/uploads", fields, query: [("route", "archive")]).status == 400)
    }

    @Test func `a query that names two routes is refused`() async throws {
        let two = [("route", "media"), ("route", "archive")]
        #expect(try await client.send(.post, "/uploads", query: two, body: [1]).problem == "invalid-route")
        let twice = [("route", "media"), ("route", "media")]
        #expect(try await client.send(.post, "/uploads", query: twice, body: [1]).status == 201)
    }

    @Test func `a part of others needs no route`() async throws {
        var client = client
        client.principal?.routes = ["media"]
        let partial: HTTPFields = [.tusResumable: "1.0.0", .uploadLength: "5", .uploadConcat: "partial"]
        #expect(try await client.send(.post, "/uploads", partial).status == 201)
    }

    @Test func `a PATCH that names no protocol is refused with the media types`() async throws {
        let created = try await open()
        let answer = try await client.send(.patch, created.path, [.contentType: "text/plain"], body: [1])
        #expect(answer.status == 415)
        #expect(answer[.acceptPatch] == "application/offset+octet-stream, application/partial-upload")
    }
}
