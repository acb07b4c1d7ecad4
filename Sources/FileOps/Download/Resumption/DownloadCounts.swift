/// The cost of a download, over all its executions.
struct DownloadCounts: Sendable, Equatable {
    /// Executions that went on with the part of an earlier one.
    var resumed: Int64 = 0
    /// How often a part was discarded for a new body.
    var restarted: Int64 = 0
    /// Bytes that were received and discarded, or received twice.
    var wasted: Int64 = 0
}
