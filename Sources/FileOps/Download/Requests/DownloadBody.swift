/// Where the body of an answer belongs in the file.
struct DownloadBody: Sendable, Equatable {
    /// The offset of the first byte.
    var start: Int64
    /// The offset after the last byte; nil where the head does not tell.
    var end: Int64?
    /// The bytes of the part that the body must repeat before the rest is written; empty: nothing to compare.
    var overlap: Range<Int64>
    /// The maximum length of the file.
    var maxEnd: Int64
}
