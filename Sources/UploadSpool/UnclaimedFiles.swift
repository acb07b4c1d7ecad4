internal import Commands

/// The directory `unclaimed` in the spool: bytes of uploads of which the store does not know, because a shard of it was
/// replaced by an older copy. Their clients may have been told that the bytes are kept, so only a person deletes them.
/// Names are those of the spool. All calls block.
package struct UnclaimedFiles: Sendable {
    package let path: String
    package let spool: SpoolDirectory

    package init(_ spool: SpoolDirectory) {
        self.spool = spool
        path = "\(spool.path)/unclaimed"
    }

    /// The files that are here, and their bytes; 0 where there is no such directory.
    package var contents: (files: Int, bytes: Int64) {
        let directory = SpoolDirectory(path: path)
        let names = ((try? directory.names()) ?? []).filter { CommandID(String($0.prefix(36))) != nil }
        return (names.count, names.reduce(0) { $0 + (directory.size(of: $1) ?? 0) })
    }
}
