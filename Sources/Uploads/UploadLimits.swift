internal import Commands
internal import Store

/// The bounds of uploads.
package struct UploadLimits: Sendable, Equatable {
    /// Bytes of one upload. The default is 1 TiB.
    package var maxSize: Int64 = 1 << 40
    /// An upload that makes no progress for this time expires. The default is a week. One that makes little progress lives
    /// four times as long, and a second for each KiB.
    package var maxAge: Duration = .seconds(7 * 86_400)
    /// The size of the spool that uploads may use; nil, the default: all but ``minFree``.
    package var quota: Int64?
    /// Bytes that stay free on the disk of the spool. The default is 1 GiB.
    package var minFree: Int64 = 1 << 30
    /// The size of the spool that the uploads of one token may use; nil, the default: nine tenths of all.
    package var tokenQuota: Int64?
    /// Uploads of one token that take bytes. The default is 10,000.
    package var maxTokenUploads = 10_000
    /// Uploads that one token may create within a minute without sending bytes. The default is 1,000.
    package var maxTokenCreations = 1000
    /// Bodies up to this size are kept in the shard, in the transaction of their command. The default is 64 KiB.
    package var maxRowSize = 64 << 10

    /// Bytes a second that an upload makes on average over a life of several ``maxAge``. A client that sends a byte now and
    /// then could hold its room for ever otherwise (draft-ietf-httpbis-resumable-upload, security considerations).
    private static let minRate: Int64 = 1 << 10

    package init() {}

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
