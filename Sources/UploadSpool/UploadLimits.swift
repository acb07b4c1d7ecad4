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

    /// Ended uploads are remembered for this time, so that their clients are told why; idempotency keys as well.
    package static let memory: Duration = .seconds(86_400)

    package init() {}
}
