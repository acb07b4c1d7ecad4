package import Commands

/// The result of a restore.
package struct RestoreResult: Sendable, Equatable {
    /// When the backup was made.
    package var time: Timestamp
    /// The shards that were replaced.
    package var shards: [Int] = []
    /// Commands that a worker had claimed when the backup was made, by their new status: `new`, `inDoubt` or
    /// `cancelled`.
    package var settled: [CommandStatus: Int] = [:]

    package init(time: Timestamp) { self.time = time }
}
