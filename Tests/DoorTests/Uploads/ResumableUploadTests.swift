import Commands
import HTTPTypes
import Store
import Testing
import Uploads

@testable import Door

struct ResumableUploadTests {
    /// Nil: a request without a version.
    static let versions: [InteropVersion?] = [.draft01, .draft03, .draft04, .draft09, .draft12, nil]

    private let client = UploadsClient()

    /// The fields of a request in a dialect.
    private static func fields(_ version: InteropVersion?, isComplete: Bool, _ more: HTTPFields = [:]) -> HTTPFields {
        var fields = more
        fields[.uploadDraftInteropVersion] = version.map { "\($0.rawValue)" }
        ResumableDialect(version).setComplete(isComplete, in: &fields)
        return fields
    }

    private static func patch(_ version: InteropVersion?, _ offset: Int, isComplete: Bool) -> HTTPFields {
        fields(
            version, isComplete: isComplete,
            [.uploadOffset: "\(offset)", .contentType: UploadMediaType.partialUpload])
    }

    /// Whether a response says that the upload is complete, in the field of the dialect and in no other.
    private func isComplete(_ answer: UploadsAnswer, _ version: InteropVersion?) -> Bool? {
        let (complete, incomplete) = (answer[.uploadComplete], answer[.uploadIncomplete])
        return switch (version == .draft01 ? incomplete : complete, version == .draft01 ? complete : incomplete) {
        case ("?1", nil): version != .draft01
        case ("?0", nil): version == .draft01
        default: nil
        }
    }

    private func head(_ path: String, _ version: InteropVersion?) async throws -> UploadsAnswer {
        var fields: HTTPFields = [:]
        fields[.uploadDraftInteropVersion] = version.map { "\($0.rawValue)" }
        return try await client.send(.head, path, fields)
    }

    @Test func `OPTIONS states the limits`() async throws {
        let answer = try await client.send(.options, "/uploads")
        #expect(answer.status == 200 && answer[.uploadLimit] == "max-size=1048576, max-age=604800")
        #expect(answer[.acceptPatch] == "application/offset+octet-stream, application/partial-upload")
        #expect(answer[.allow] == "OPTIONS, POST, PUT")
    }

    @Test(arguments: versions, [HTTPRequest.Method.post, .put])
    func `a whole upload in one request answers 201`(version: InteropVersion?, method: HTTPRequest.Method) async throws
    {
        let answer = try await client.send(
            method, "/uploads", Self.fields(version, isComplete: true, [.contentType: "text/plain"]),
            query: [("route", "media"), ("name", "a.txt")], body: Array("hello".utf8))
        let id = try #require(answer.id)
        #expect(answer.status == 201 && isComplete(answer, version) == true)
        #expect(
            answer.body
                == ["id": .string("\(id)"), "state": "complete", "size": 5, "command": .string("\(id)")])
        let facts = try #require(client.uploads.stored(id)).facts
        #expect(facts.fileName == "a.txt" && facts.contentType == "text/plain" && facts.route == "media")
        #expect(facts.origin == .resumable && facts.interopVersion == version?.rawValue)
        guard let version else {
            #expect(answer.interim.isEmpty, "104 goes only to clients that name a version")
            return
        }
        #expect(answer.interim.map(\.status) == [104])
        #expect(answer.interim[0][.location] == answer[.location])
        #expect(answer.interim[0][.uploadDraftInteropVersion] == "\(version.rawValue)")
        #expect(answer.interim[0][.uploadLimit] != nil)
    }

    @Test func `104 can be turned off`() async throws {
        var client = client
        client.options.sendsInterimResponses = false
        let answer = try await client.send(
            .post, "/uploads", Self.fields(.draft09, isComplete: true), body: Array("hello".utf8))
        #expect(answer.status == 201 && answer.interim.isEmpty)
    }

    @Test(arguments: versions)
    func `an upload in parts goes on at the offset of HEAD`(version: InteropVersion?) async throws {
        let states = version == .draft01 || version == .draft03 || version == .draft04
        let created = try await client.send(
            .post, "/uploads", Self.fields(version, isComplete: false, [.uploadLength: "11"]))
        #expect(created.status == 201 && created.id != nil && isComplete(created, version) == false)
        #expect(created[.uploadLimit] != nil && created.interim.isEmpty)
        #expect(created[.uploadOffset] == "0")

        let part = try await client.send(
            .patch, created.path, Self.patch(version, 0, isComplete: false), body: Array("hello ".utf8))
        #expect(part.status == 204 && isComplete(part, version) == false)
        #expect(part[.uploadOffset] == (states ? "6" : nil))

        let head = try await head(created.path, version)
        #expect(head.status == (version == nil ? 200 : 204) && head[.uploadOffset] == "6")
        #expect(head[.uploadLength] == "11" && head[.cacheControl] == "no-store" && head[.uploadLimit] != nil)
        if version != nil { #expect(isComplete(head, version) == false && head[.tusResumable] == nil) }

        let last = try await client.send(
            .patch, created.path, Self.patch(version, 6, isComplete: true), body: Array("world".utf8))
        #expect(last.status == 201 && isComplete(last, version) == true && last.id == created.id)
        #expect(last.body?["state"] == "complete" && last.body?["size"] == 11)
        #expect(client.uploads.bytes(try #require(created.id)) == Array("hello world".utf8))
    }

    @Test(arguments: versions)
    func `all bytes are not the end until the client says so`(version: InteropVersion?) async throws {
        let created = try await client.send(
            .post, "/uploads", Self.fields(version, isComplete: false, [.uploadLength: "5"]), body: Array("hello".utf8))
        let id = try #require(created.id)
        #expect(client.uploads.stored(id)?.state == .open)
        let head = try await head(created.path, version)
        #expect(head[.uploadOffset] == "5")
        if version != nil { #expect(isComplete(head, version) == false) }
        // tus-js-client, which speaks versions 5 and 6, would take an offset that equals the length for success.
        #expect(head[.uploadLength] == (version == .draft09 || version == .draft12 ? "5" : nil))
        let last = try await client.send(.patch, created.path, Self.patch(version, 5, isComplete: true))
        #expect(last.status == 201 && isComplete(last, version) == true)
        let complete = try await self.head(created.path, version)
        if version != nil { #expect(isComplete(complete, version) == true && complete[.uploadLength] == "5") }
        // The response may get lost: the same request again answers the same.
        let again = try await client.send(.patch, created.path, Self.patch(version, 5, isComplete: true))
        #expect(again.status == 201 && again.body == last.body)
    }

    @Test(arguments: versions)
    func `another offset answers 409 with the right one`(version: InteropVersion?) async throws {
        let created = try await client.send(
            .post, "/uploads", Self.fields(version, isComplete: false), body: Array("hello".utf8))
        let answer = try await client.send(.patch, created.path, Self.patch(version, 3, isComplete: true), body: [1])
        #expect(answer.status == 409 && answer[.uploadOffset] == "5" && isComplete(answer, version) == false)
        #expect(answer.problem == "mismatching-upload-offset")
        #expect(answer.members == [.init("expected-offset", 5), .init("provided-offset", 3)])
        #expect(try await head(created.path, version)[.uploadOffset] == "5")
    }

    @Test(arguments: versions)
    func `a complete upload takes no more bytes`(version: InteropVersion?) async throws {
        let created = try await client.send(
            .post, "/uploads", Self.fields(version, isComplete: true), body: Array("hello".utf8))
        let answer = try await client.send(.patch, created.path, Self.patch(version, 5, isComplete: true), body: [1])
        #expect(answer.status == (version == .draft12 || version == nil ? 410 : 400))
        #expect(answer.problem == "completed-upload" && isComplete(answer, version) == false)
    }

    @Test(arguments: versions)
    func `contradicting lengths are refused`(version: InteropVersion?) async throws {
        let whole = try await client.send(
            .post, "/uploads", Self.fields(version, isComplete: true, [.uploadLength: "6"]), body: Array("hello".utf8))
        #expect(whole.status == 400 && whole.problem == "inconsistent-upload-length")
        let part = try await client.send(
            .post, "/uploads", Self.fields(version, isComplete: false, [.uploadLength: "4"]), body: Array("hello".utf8))
        #expect(part.status == 400 && client.uploads.all.isEmpty)

        let created = try await client.send(
            .post, "/uploads", Self.fields(version, isComplete: false, [.uploadLength: "11"]))
        var fields = Self.patch(version, 0, isComplete: true)
        fields[.uploadLength] = "5"
        let append = try await client.send(.patch, created.path, fields, body: Array("hello".utf8))
        #expect(append.status == 400 && append.problem == "inconsistent-upload-length")
        #expect(isComplete(append, version) == false)
    }

    @Test(arguments: versions)
    func `too large an upload answers 413 with the limit`(version: InteropVersion?) async throws {
        let answer = try await client.send(
            .post, "/uploads", Self.fields(version, isComplete: false, [.uploadLength: "1048577"]))
        #expect(answer.status == 413 && answer[.uploadLimit] == "max-size=1048576")
    }

    @Test func `the stated age is the time that an upload has left, which a look does not renew`() async throws {
        let created = try await client.send(.post, "/uploads", Self.fields(.draft12, isComplete: false))
        let id = try #require(created.id)
        var upload = try #require(client.uploads.stored(id))
        upload.due = .now + .seconds(90)
        client.uploads.insert(upload)
        let head = try await head(created.path, .draft12)
        let age = try #require(head[.uploadLimit]?.split(separator: "max-age=").last.flatMap { Int($0) })
        #expect((1...90).contains(age), "\(head[.uploadLimit] ?? "")")
        let last = try await client.send(.patch, created.path, Self.patch(.draft12, 0, isComplete: true))
        #expect(last[.uploadLimit] == "max-size=1048576")
    }

    @Test(arguments: [true, false])
    func `a creation repeated under its key goes on where the first one was cut`(isComplete: Bool) async throws {
        var fields = Self.fields(.draft12, isComplete: isComplete)
        fields[.idempotencyKey] = "\"k\""
        fields[.contentLength] = "11"
        let cut = UploadsClient.stream([Array("hello ".utf8)], isCut: true)
        let first = try await client.send(.post, "/uploads", fields, body: cut)
        #expect(first.status == 503)
        let other = try await client.send(.post, "/uploads", fields, body: Array("HELLO world".utf8))
        // Nor does a 104 name the URL before the bytes are compared.
        #expect(other.status == 422 && other[.location] == nil && other.interim.allSatisfy { $0[.location] == nil })
        let again = try await client.send(.post, "/uploads", fields, body: Array("hello world".utf8))
        #expect(again.status == 201 && again.id == first.id && self.isComplete(again, .draft12) == isComplete)
        #expect(client.uploads.bytes(try #require(first.id)) == Array("hello world".utf8))
    }

    @Test func `a digest that the creation wants is answered by the request that completes the upload`() async throws {
        var client = client
        client.options.digest = { _, algorithm in UploadDigest(algorithm, Array(repeating: 7, count: algorithm.size)) }
        var fields = Self.fields(.draft12, isComplete: false)
        fields[.wantReprDigest] = "md5=1"
        let created = try await client.send(.post, "/uploads", fields)
        #expect(created[.reprDigest] == nil)
        let last = try await client.send(.patch, created.path, Self.patch(.draft12, 0, isComplete: true), body: [1])
        #expect(last[.reprDigest] == "md5=:BwcHBwcHBwcHBwcHBwcHBw==:")
    }

    @Test(arguments: versions)
    func `a cut creation goes on at the offset of HEAD`(version: InteropVersion?) async throws {
        var fields = Self.fields(version, isComplete: true)
        fields[.contentLength] = "11"
        let body = UploadsClient.stream([Array("hello ".utf8)], isCut: true)
        let cut = try await client.send(.post, "/uploads", fields, body: body)
        #expect(cut.status == 503 && cut[.uploadOffset] == "6" && isComplete(cut, version) == false)
        #expect(try await head(cut.path, version)[.uploadOffset] == "6")
        let last = try await client.send(
            .patch, cut.path, Self.patch(version, 6, isComplete: true), body: Array("world".utf8))
        #expect(last.status == 201)
        #expect(client.uploads.bytes(try #require(cut.id)) == Array("hello world".utf8))
    }

    @Test func `a chunked upload ends with its body`() async throws {
        var fields = Self.fields(.draft12, isComplete: true)
        fields[.transferEncoding] = "chunked"
        let body = UploadsClient.stream([Array("hello ".utf8), Array("world".utf8)])
        let answer = try await client.send(.post, "/uploads", fields, body: body)
        #expect(answer.status == 201 && answer.body?["size"] == 11)
    }

    @Test(
        arguments: [
            (.draft01, false), (.draft03, false), (.draft04, false), (.draft09, true), (.draft12, true), (nil, true),
        ] as [(InteropVersion?, Bool)])
    func `the later versions need the media type of a PATCH`(version: InteropVersion?, isNeeded: Bool) async throws {
        let created = try await client.send(.post, "/uploads", Self.fields(version, isComplete: false))
        var fields = Self.patch(version, 0, isComplete: true)
        fields[.contentType] = "application/octet-stream"
        let answer = try await client.send(.patch, created.path, fields, body: [1])
        #expect(answer.status == (isNeeded ? 415 : 201))
        if isNeeded { #expect(answer[.acceptPatch] == UploadMediaType.partialUpload) }
    }

    @Test(
        arguments: [
            [.uploadComplete: "?1"], [.uploadOffset: "0"], [.uploadOffset: "0", .uploadComplete: "true"],
            [.uploadOffset: "-1", .uploadComplete: "?1"], [.uploadOffset: "0, 0", .uploadComplete: "?1"],
            [.uploadOffset: "0", .uploadIncomplete: "?0"],
        ] as [HTTPFields])
    func `an append without a valid offset and completion is refused`(more: HTTPFields) async throws {
        let created = try await client.send(.post, "/uploads", Self.fields(.draft12, isComplete: false))
        var fields = more
        fields[.contentType] = UploadMediaType.partialUpload
        fields[.uploadDraftInteropVersion] = "9"
        #expect(try await client.send(.patch, created.path, fields, body: [1]).status == 400)
        #expect(client.uploads.stored(try #require(created.id))?.offset == 0)
    }

    @Test func `a digest of other bytes drops the part`() async throws {
        var fields = Self.fields(.draft12, isComplete: true)
        fields[.contentDigest] = "md5=:XrY7u+Ae7tCTyyK7j1rNww==:"
        let answer = try await client.send(.post, "/uploads", fields, body: Array("hello".utf8))
        #expect(answer.status == 400 && answer.problem == "checksum-mismatch" && answer.id != nil)
        #expect(client.uploads.stored(try #require(answer.id))?.offset == 0)
    }

    @Test func `the digest of the whole is kept with the upload`() async throws {
        var fields = Self.fields(.draft12, isComplete: false)
        fields[.reprDigest] = "md5=:XrY7u+Ae7tCTyyK7j1rNww==:"
        let created = try await client.send(.post, "/uploads", fields)
        #expect(client.uploads.stored(try #require(created.id))?.facts.digest?.algorithm == .md5)
        fields[.reprDigest] = "md5=:AA:"
        #expect(try await client.send(.post, "/uploads", fields).status == 400)
    }

    @Test(arguments: ["4", "7", "10"])
    func `an unknown version is a plain upload, and never takes a part for the whole`(version: String) async throws {
        let fields: HTTPFields = [.uploadDraftInteropVersion: version, .uploadComplete: "?1"]
        let whole = try await client.send(.post, "/uploads", fields, body: Array("hello".utf8))
        #expect(whole.status == 201 && whole.interim.isEmpty && whole[.uploadComplete] == nil)
        #expect(client.uploads.all.map(\.facts.origin) == [.plain])
        for field in [(HTTPField.Name.uploadComplete, "?0"), (.uploadIncomplete, "?1")] {
            let part: HTTPFields = [.uploadDraftInteropVersion: version, field.0: field.1]
            let answer = try await client.send(.post, "/uploads", part, body: Array("hel".utf8))
            #expect(answer.status == 400 && answer.problem == "unsupported-interop-version")
        }
        let patch = Self.patch(nil, 0, isComplete: true)
        var unknown = patch
        unknown[.uploadDraftInteropVersion] = version
        #expect(try await client.send(.patch, whole.path, unknown).status == 400)
        #expect(client.uploads.all.count == 1)
    }

    @Test func `a creation that does not say whether it is complete is plain`() async throws {
        let answer = try await client.send(
            .post, "/uploads", [.uploadDraftInteropVersion: "9", .uploadComplete: "yes"], body: [1])
        #expect(answer.status == 201 && answer.interim.isEmpty && client.uploads.all.map(\.facts.origin) == [.plain])
    }

    @Test func `DELETE ends an upload`() async throws {
        let created = try await client.send(.post, "/uploads", Self.fields(.draft12, isComplete: false))
        #expect(try await client.send(.delete, created.path).status == 204)
        #expect(try await head(created.path, .draft12).status == 410)
    }

    @Test(arguments: versions)
    func `an upload that fails at its end says that all bytes were there`(version: InteropVersion?) async throws {
        client.uploads.fail(.append, .digestMismatch)
        let answer = try await client.send(.post, "/uploads", Self.fields(version, isComplete: true), body: [1])
        #expect(answer.status == 400 && answer.problem == "digest-mismatch" && isComplete(answer, version) == true)
    }

    @Test(arguments: versions)
    func `HEAD of an upload of the draft answers 503 while the store is busy`(version: InteropVersion?) async throws {
        var client = client
        let uploads = client.uploads
        client.options.find = { id in try #require(uploads.stored(id)) }
        let created = try await client.send(.post, "/uploads", Self.fields(version, isComplete: false))
        client.uploads.fail(.upload, .unavailable)
        var fields: HTTPFields = [:]
        fields[.uploadDraftInteropVersion] = version.map { "\($0.rawValue)" }
        let answer = try await client.send(.head, created.path, fields)
        #expect(answer.status == 503 && answer[.retryAfter] != nil && answer[.uploadOffset] == nil)
    }
}
