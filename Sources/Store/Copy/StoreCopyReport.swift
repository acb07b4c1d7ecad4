package import Commands

/// The result of a copy.
package struct StoreCopyReport: Sendable, Equatable {
    /// Those of which there is at least one.
    package var rows: [CopiedKind: Int] = [:]
    /// Of the source, as it keeps them.
    package var before: CommandCounts
    /// Of the target, from its rows, before the release of ``released``. Equal to ``before`` in every cell.
    package var after: CommandCounts
    /// Claimed commands without the session of a worker, which were released in the target, by their new status.
    package var released: [CommandStatus: Int] = [:]
    /// Open uploads that were left out.
    package var uploadsLeft = 0
    /// Uploads whose bytes are in the spool of the source, which is not copied.
    package var spooledUploads = 0
    /// The id of the target.
    package var store: String

    init(before: CommandCounts, after: CommandCounts, store: String) {
        self.before = before
        self.after = after
        self.store = store
    }
}
