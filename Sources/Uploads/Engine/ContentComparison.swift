internal import Commands
internal import Store

/// Compares the bytes of a request with those of a complete upload, without keeping them.
final class ContentComparison: UploadReceiver, @unchecked Sendable {
    // Unchecked: the request's task uses it, one call after the other, and the engine only after the end of that task.
    private let upload: Upload
    private let sha256: [UInt8]
    private var digest = IncrementalDigest(.sha256)
    private(set) var count: Int64 = 0

    /// - Parameter sha256: of all bytes of the upload.
    init(_ upload: Upload, sha256: [UInt8]) {
        self.upload = upload
        self.sha256 = sha256
    }

    func add(_ bytes: UnsafeRawBufferPointer) {
        count += Int64(bytes.count)
        digest.update(bytes)
    }

    func flush() async throws(UploadError) { try checkCount() }

    /// A checksum of equal bytes says nothing more.
    func setChecksum(_ checksum: UploadDigest) {}

    /// - Parameter isCut: whether the request may have had more bytes.
    /// - Throws: `keyConflict` for other bytes than those of the upload; `interrupted`.
    func finish(isCut: Bool) throws(UploadError) {
        try checkCount()
        if isCut {
            throw UploadError(
                .interrupted, "The request was cut before its bytes were compared with those of upload \(upload.id).",
                offset: upload.offset)
        }
        guard count == upload.offset, digest.finish()?.bytes == sha256 else {
            throw .keyConflict(upload, "has other bytes")
        }
    }

    private func checkCount() throws(UploadError) {
        if count > upload.offset { throw .keyConflict(upload, "has \(upload.offset) bytes") }
    }
}
