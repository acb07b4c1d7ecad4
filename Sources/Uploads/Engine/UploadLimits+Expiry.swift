internal import Commands
internal import Store
internal import UploadSpool

extension UploadLimits {
    /// Bytes a second that an upload makes on average over a life of several ``maxAge``. A client that sends a byte now and
    /// then could hold its room for ever otherwise (draft-ietf-httpbis-resumable-upload, security considerations).
    private static let minRate: Int64 = 1 << 10

    /// The time from the creation of an upload to its end where it keeps on making progress.
    /// - Parameter offset: bytes that it has.
    func maxLife(at offset: Int64) -> Duration { maxAge * 4 + .seconds(offset / Self.minRate) }

    /// When an upload expires that makes progress now.
    /// - Parameter offset: bytes that it has then.
    func expiry(of upload: Upload, at offset: Int64, now: Timestamp) -> Timestamp {
        min(now + maxAge, upload.createdAt + maxLife(at: offset))
    }

    func reasonOfExpiry(_ upload: Upload, _ now: Timestamp) -> String {
        upload.createdAt + maxLife(at: upload.offset) <= now
            ? "it made \(upload.offset) bytes in \(Int((now - upload.createdAt).seconds)) s"
            : "it made no progress for \(Int(maxAge.seconds)) s"
    }
}
