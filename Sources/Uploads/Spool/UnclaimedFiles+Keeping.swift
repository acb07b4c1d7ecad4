internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import UploadSpool

extension UnclaimedFiles {
    private var directory: SpoolDirectory { SpoolDirectory(path: path) }

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
        if directory.size(of: "\(upload)") == size { return }
        let unfinished = "\(path)/unfinished"
        try directory.remove("unfinished")
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
        try directory.sync()
    }
}
