internal import Commands
internal import HTTPClient

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
