internal import Commands
internal import HTTPClient
internal import Transfers

/// A final response of an endpoint, without the connection.
package struct S3Response: Sendable, Equatable {
    var status: Int
    var headers: [HTTPField] = []
    /// Up to 1 MiB.
    var body: [UInt8] = []
    /// Whether the whole body came.
    var isWhole = true

    /// The first header of that name.
    /// - Parameter name: in lower case.
    func header(_ name: String) -> String? { headers.first { $0.lowerName == name }?.value }

    var isSuccess: Bool { (200..<300).contains(status) }

    /// A date of HTTP (RFC 9110, section 5.6.7).
    func date(_ name: String) -> Timestamp? { header(name).flatMap(RetryAfter.date) }
}

extension S3Response {
    /// The answer to CreateMultipartUpload.
    func createdUpload() -> S3Answer<S3CreatedUpload> {
        document("InitiateMultipartUploadResult") { record in
            guard let id = record.word("UploadId"), S3Checkpoint.isUploadID(id) else {
                return .unreadable("without an <UploadId> that can be sent back")
            }
            return .accepted(S3CreatedUpload(id: id, abortDate: date("x-amz-abort-date")))
        }
    }

    /// The answer to UploadPart.
    func storedPart(_ number: Int) -> S3Answer<S3Part> {
        guard isSuccess else { return .refused(S3Refusal(self)) }
        guard let etag = header("etag").flatMap(S3Tag.text) else {
            return .unreadable("without an ETag, so that the part cannot be named in the completion")
        }
        let checksum = header("x-amz-checksum-crc32c").flatMap { $0.utf8.count <= 16 ? $0 : nil }
        return .accepted(S3Part(number, etag: etag, checksum: checksum))
    }

    /// The answer to CompleteMultipartUpload. The status 200 is sent before the endpoint begins to work, so
    /// only a whole `<CompleteMultipartUploadResult>` is success, which moto calls `…Response`.
    func completion() -> S3Answer<S3StoredObject> {
        document("CompleteMultipartUploadResult", or: "CompleteMultipartUploadResponse") { record in
            guard let etag = record.word("ETag").flatMap(S3Tag.text) else {
                return .unreadable("without an <ETag>")
            }
            return .accepted(
                S3StoredObject(
                    etag: etag, versionID: versionID,
                    location: record.word("Location").map { SingleLine.text($0, limit: 2048) }))
        }
    }

    /// The answer to PutObject.
    func storedObject() -> S3Answer<S3StoredObject> {
        guard isSuccess else { return .refused(S3Refusal(self)) }
        return .accepted(
            S3StoredObject(etag: header("etag").flatMap(S3Tag.text), versionID: versionID, location: nil))
    }

    /// The answer to HeadObject; nil where there is no object.
    func object() -> S3Answer<S3Object?> {
        if status == 404 { return .accepted(nil) }
        guard isSuccess else { return .refused(S3Refusal(self)) }
        let length = header("content-length")?.trimmed ?? ""
        return .accepted(
            S3Object(
                size: !length.isEmpty && length.utf8.allSatisfy(\.isDigit) ? Int64(length) : nil,
                etag: header("etag").flatMap(S3Tag.text),
                command: header(S3HeaderRules.metadataPrefix + S3HeaderRules.commandName)?.trimmed,
                versionID: versionID))
    }

    /// The answer to AbortMultipartUpload. An upload that does not exist is aborted. Parts in flight may
    /// still arrive, so a list of the parts comes after it.
    func abortion() -> S3Answer<Bool> {
        if isSuccess { return .accepted(true) }
        let refusal = S3Refusal(self)
        let isGone = refusal.code.map { $0 == "NoSuchUpload" } ?? (status == 404)
        return isGone ? .accepted(true) : .refused(refusal)
    }

    /// The answer to ListParts.
    func partPage() -> S3Answer<S3PartPage> {
        document("ListPartsResult", item: "Part") { record in
            switch S3PartPage.read(record, abortDate: date("x-amz-abort-date")) {
            case .success(let page): .accepted(page)
            case .failure(let error): .unreadable(error.message)
            }
        }
    }

    /// The answer to ListMultipartUploads.
    func uploadPage() -> S3Answer<S3UploadPage> {
        document("ListMultipartUploadsResult", item: "Upload") { .accepted(S3UploadPage($0)) }
    }

    private var versionID: String? {
        header("x-amz-version-id").map { SingleLine.text($0, limit: 1024) }
    }

    /// Reads the body of a success, which must be a whole document with this root.
    private func document<Value>(
        _ root: String, or other: String? = nil, item: String? = nil, _ read: (XMLRecord) -> S3Answer<Value>
    ) -> S3Answer<Value> {
        guard isSuccess else { return .refused(S3Refusal(self)) }
        guard isWhole else { return .unreadable("with a body that was cut off") }
        let record: XMLRecord
        do {
            record = try XMLRecord(body, item: item)
        } catch {
            return .unreadable(body.isEmpty ? "without a body" : "with a body that is not XML: \(error)")
        }
        if record.root == "Error" { return .refused(S3Refusal(self, record)) }
        guard record.root == root || record.root == other else {
            return .unreadable("with <\(SingleLine.text(record.root, limit: 40))> instead of <\(root)>")
        }
        return read(record)
    }
}

/// The answer of an endpoint to one request.
enum S3Answer<Value: Sendable & Equatable>: Sendable, Equatable {
    case accepted(Value)
    /// The endpoint refuses, also by an error in the body of a 200.
    case refused(S3Refusal)
    /// The status says success, and the rest does not: a sentence about it.
    case unreadable(String)

    var value: Value? { if case .accepted(let value) = self { value } else { nil } }
}

/// The answer to CreateMultipartUpload.
struct S3CreatedUpload: Sendable, Equatable {
    var id: String
    /// When the bucket's lifecycle deletes the upload; nil where no rule does.
    var abortDate: Timestamp?
}

/// The object that a completion or a PUT has made.
struct S3StoredObject: Sendable, Equatable {
    /// Without quotes.
    var etag: String?
    var versionID: String?
    /// The object's URL by the endpoint.
    var location: String?
}

/// An object as HEAD describes it.
struct S3Object: Sendable, Equatable {
    enum Origin: Sendable, Equatable {
        /// This command has made the object.
        case ours
        /// Another client has made it, or this command with other bytes.
        case foreign
    }

    /// Bytes; nil where the answer does not say.
    var size: Int64?
    /// Without quotes.
    var etag: String?
    /// The value of the metadata `sluice-command`.
    var command: String?
    var versionID: String?

    /// - Parameters:
    ///   - command: the id of the command.
    ///   - size: bytes of the file.
    ///   - tag: the tag that the object must have if this command made it; nil where it is not known
    ///     (``S3Tag/composite(of:)``).
    func origin(command: String, size: Int64, tag: String?) -> Origin {
        guard self.size == size else { return .foreign }
        if self.command == command { return .ours }
        // An endpoint that drops metadata is known by the tag, which has the content of every part in it.
        return self.command == nil && tag != nil && etag?.lowercased() == tag ? .ours : .foreign
    }
}
