import Commands
import HTTPTypes
import Store
import TestSupport
import Testing
import Uploads

@testable import Door

/// Clients with random cuts, and requests with random fields.
struct UploadFuzzTests {
    private enum Dialect: Equatable {
        case tus
        case resumable(InteropVersion?)
    }

    private static let dialects: [Dialect] =
        [.tus] + (InteropVersion.allCases.map(Optional.some) + [nil]).map { .resumable($0) }

    private static func fields(_ dialect: Dialect, isLast: Bool? = nil) -> HTTPFields {
        switch dialect {
        case .tus: return [.tusResumable: "1.0.0"]
        case .resumable(let version):
            var fields: HTTPFields = [:]
            fields[.uploadDraftInteropVersion] = version.map { "\($0.rawValue)" }
            if let isLast { ResumableDialect(version).setComplete(isLast, in: &fields) }
            return fields
        }
    }

    @Test func `an upload that is cut at random arrives whole in each dialect`() async throws {
        var random = SeededRandom.announced("an upload that is cut at random arrives whole in each dialect")
        for round in 0..<140 {
            let dialect = Self.dialects[round % Self.dialects.count]
            let client = UploadsClient()
            let bytes = random.bytes(random.number(in: 0..<300))
            var create = Self.fields(dialect, isLast: false)
            create[.uploadLength] = "\(bytes.count)"
            let created = try await client.send(.post, "/uploads", create)
            try #require(created.status == 201)
            let id = try #require(created.id)
            for _ in 0..<200 where client.uploads.stored(id)?.state != .complete {
                let head = try await client.send(.head, created.path, Self.fields(dialect))
                let offset = try #require(head[.uploadOffset].flatMap { Int($0) })
                try await step(client, created.path, dialect, bytes, offset, &random)
            }
            #expect(client.uploads.stored(id)?.state == .complete, "\(dialect)")
            #expect(client.uploads.bytes(id) == bytes, "\(dialect)")
        }
    }

    /// Sends a random number of the bytes from an offset on, and may be cut.
    private func step(
        _ client: UploadsClient, _ path: String, _ dialect: Dialect, _ bytes: [UInt8], _ offset: Int,
        _ random: inout SeededRandom
    ) async throws {
        let count = random.chance(0.3) ? bytes.count - offset : random.number(in: 0..<(bytes.count - offset + 1))
        let part = Array(bytes[offset..<(offset + count)])
        var fields = Self.fields(dialect, isLast: offset + count == bytes.count)
        fields[.contentType] = dialect == .tus ? UploadMediaType.tus : UploadMediaType.partialUpload
        fields[.uploadOffset] = "\(offset)"
        if random.chance(0.7) {
            fields[.contentLength] = "\(count)"
        } else {
            fields[.transferEncoding] = "chunked"
        }
        let sent = random.chance(0.5) ? count : random.number(in: 0..<(count + 1))
        let isCut = sent < count || random.chance(0.1)
        let chunks = stride(from: 0, to: sent, by: 17).map { Array(part[$0..<min($0 + 17, sent)]) }
        let answer = try await client.send(
            .patch, path, fields, body: UploadsClient.stream(chunks, isCut: isCut))
        // With all bytes an upload of tus is complete, whatever became of its last request.
        let isWhole = dialect == .tus && sent == bytes.count - offset
        #expect(isCut && !isWhole ? answer.status >= 400 : answer.status < 300, "\(dialect): \(answer)")
    }

    @Test func `random fields are answered, and never make an upload go back`() async throws {
        var random = SeededRandom.announced("random fields are answered, and never make an upload go back")
        let names: [HTTPField.Name] = [
            .tusResumable, .uploadMetadata, .uploadDeferLength, .uploadChecksum, .uploadConcat, .uploadOffset,
            .uploadLength, .uploadComplete, .uploadIncomplete, .uploadDraftInteropVersion, .contentDigest, .reprDigest,
            .wantReprDigest, .idempotencyKey, .contentType, .contentDisposition, .contentLength,
        ]
        let values = [
            "1.0.0", "0", "1", "5", "-1", "?1", "?0", "3", "8", "9", "", "a YQ==", "sha1 YQ==", "partial",
            "final;/uploads/x",
            "sha-256=:YQ==:", "sha-256=1", "\"k\"", UploadMediaType.tus, UploadMediaType.partialUpload,
            "multipart/form-data; boundary=b", "form-data; filename=a", "9223372036854775807", "99999999999999999999",
            "(", "é", ":", "\"",
        ]
        let client = UploadsClient()
        let path = try await client.send(.post, "/uploads", [.tusResumable: "1.0.0", .uploadLength: "50"]).path
        let methods: [HTTPRequest.Method] = [.post, .put, .head, .get, .patch]
        var offset: Int64 = 0
        for _ in RandomRounds("random fields are answered, and never make an upload go back", 500...3000) {
            var fields: HTTPFields = [:]
            for _ in 0..<random.number(in: 0..<7) {
                let name = names[random.number(in: 0..<names.count)]
                fields[name] = values[random.number(in: 0..<values.count)]
            }
            let method = methods[random.number(in: 0..<methods.count)]
            let target = method == .post || method == .put ? "/uploads" : path
            let answer = try await client.send(method, target, fields, body: random.bytes(random.number(in: 0..<6)))
            #expect((200..<600).contains(answer.status) && answer.status != 500, "\(method) \(fields): \(answer)")
            if fields.contains(.tusResumable) { #expect(answer[.tusResumable] != nil || method == .get) }
            let upload = try #require(client.uploads.all.first)
            #expect(upload.offset >= offset)
            offset = upload.offset
        }
    }
}
