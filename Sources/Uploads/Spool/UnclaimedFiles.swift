internal import CLinux
internal import Commands
internal import Glibc
internal import Host

/// The directory `unclaimed` in the spool: bytes of uploads of which the store does not know, because a shard of it was
/// replaced by an older copy. Their clients may have been told that the bytes are kept, so only a person deletes them.
/// Names are those of the spool. All calls block.
package struct UnclaimedFiles: Sendable {
    package let path: String
    private let spool: SpoolDirectory

    package init(_ spool: SpoolDirectory) {
        self.spool = spool
        path = "\(spool.path)/unclaimed"
    }

    /// Moves the file of an upload here. A file that is here is never replaced.
    func move(_ upload: CommandID) throws(SystemError) {
        try prepare()
        try rename(spool.file(of: upload), upload)
        try spool.sync()
    }

    /// Copies the file of an upload here, unless a call before a crash has done so. The original stays.
    func copy(_ upload: CommandID) throws(SystemError) {
        try prepare()
        let original = try SpoolFile(existing: spool.file(of: upload))
        let size = try original.size
        if Self.size(of: "\(path)/\(upload)") == size { return }
        let unfinished = "\(path)/unfinished"
        try SpoolFile.remove(unfinished)
        do throws(SystemError) {
            let file = try SpoolFile(unfinished)
            _ = try file.copy(original, at: 0, maxCount: size, to: 0)
            try file.sync()
            try rename(unfinished, upload)
        } catch {
            // It may be large, and the disk full.
            unlink(unfinished)
            throw error
        }
    }

    /// The files that are here, and their bytes; 0 where there is no such directory.
    package var contents: (files: Int, bytes: Int64) {
        let directory = SpoolDirectory(path: path)
        let names = ((try? directory.names()) ?? []).filter { CommandID(String($0.prefix(36))) != nil }
        return (names.count, names.reduce(0) { $0 + (Self.size(of: "\(path)/\($1)") ?? 0) })
    }

    private func prepare() throws(SystemError) {
        guard mkdir(path, 0o700) != 0 else { return try spool.sync() }
        guard errno == EEXIST else { throw SystemError("create", path) }
    }

    /// Gives a file the name of its upload, or that name and a number where an earlier restore has left one.
    private func rename(_ file: String, _ upload: CommandID) throws(SystemError) {
        var (name, number) = ("\(path)/\(upload)", 1)
        while clinux_rename_exclusive(file, name) != 0 {
            guard errno == EEXIST else { throw SystemError("rename", file) }
            number += 1
            name = "\(path)/\(upload).\(number)"
        }
        try SpoolDirectory(path: path).sync()
    }

    private static func size(of path: String) -> Int64? {
        var facts = stat()
        return lstat(path, &facts) == 0 ? Int64(facts.st_size) : nil
    }
}
