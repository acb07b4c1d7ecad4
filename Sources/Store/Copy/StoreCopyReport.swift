package import Commands
internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

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
    /// The data directory that a target on a server belongs to; nil where work has not begun on it.
    package var host: String?
    /// The spool of the source; nil where its data directory is not on this machine.
    package var spool: String?
    /// The file that makes ``spool`` that of the source, so that a door of the target refuses it; nil where there is none.
    package var spoolMark: String?

    init(before: CommandCounts, after: CommandCounts, store: String) {
        self.before = before
        self.after = after
        self.store = store
    }

    mutating func note(_ directory: DataDirectory?, of store: String) {
        guard let directory else { return }
        spool = directory.resolved.spool
        let mark = "\(directory.resolved.uploads)/\(DataDirectory.uploadsMark(of: store))"
        spoolMark = access(mark, F_OK) == 0 ? mark : nil
    }
}
