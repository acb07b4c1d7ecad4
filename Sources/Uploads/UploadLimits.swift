/// The bounds of uploads.
package struct UploadLimits: Sendable, Equatable {
    /// Bytes of one upload. The default is 1 TiB.
    package var maxSize: Int64 = 1 << 40
    /// An upload that makes no progress for this time expires. The default is a week.
    package var maxAge: Duration = .seconds(7 * 86_400)
    /// The size of the spool that uploads may use; nil, the default: all but ``minFree``.
    package var quota: Int64?
    /// Bytes that stay free on the disk of the spool. The default is 1 GiB.
    package var minFree: Int64 = 1 << 30
    /// Bodies up to this size are kept in the shard, in the transaction of their command. The default is 64 KiB.
    package var maxRowSize = 64 << 10

    package init() {}
}
