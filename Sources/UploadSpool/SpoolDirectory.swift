internal import CLinux
package import Commands
internal import Glibc
package import Host

/// The directory with the files of uploads. All calls block.
package struct SpoolDirectory: Sendable {
    /// Without a slash at the end.
    package let path: String

    package init(path: String) { self.path = path }

    /// The path of an upload's file, whether or not it exists. Its name is the id, so no text of a client is in it.
    package func file(of upload: CommandID) -> String { "\(path)/\(upload)" }

    /// Makes the directory where there is none, private to this user.
    package func prepare() throws(SystemError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError("create", path) }
    }

    /// The uploads that have a file.
    package func files() throws(SystemError) -> [CommandID] { try names().compactMap { CommandID($0) } }

    /// The names of all files.
    func names() throws(SystemError) -> [String] {
        guard let directory = opendir(path) else { throw SystemError("read", path) }
        defer { closedir(directory) }
        var found: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            found.append(name)
        }
        return found
    }

    /// Bytes of the file of this name; nil where it is missing.
    package func size(of name: String) -> Int64? {
        var facts = stat()
        return lstat("\(path)/\(name)", &facts) == 0 ? Int64(facts.st_size) : nil
    }

    /// Makes the names of new files durable.
    package func sync() throws(SystemError) {
        let descriptor = clinux_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemError("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw SystemError("sync", path) }
    }

    /// Deletes the file of an upload; one that is not there counts as deleted.
    package func remove(_ upload: CommandID) throws(SystemError) { try remove("\(upload)") }

    /// Deletes a file by its name; one that is not there counts as deleted.
    package func remove(_ name: String) throws(SystemError) {
        let path = "\(path)/\(name)"
        guard unlink(path) == 0 || errno == ENOENT else { throw SystemError("remove", path) }
    }

    /// Bytes that the disk has free for this user, and files.
    package var free: (bytes: Int64, files: Int64) {
        get throws(SystemError) {
            var space = statvfs()
            guard statvfs(path, &space) == 0 else { throw SystemError("stat the file system of", path) }
            // Some file systems have no fixed number of files.
            let files = space.f_files == 0 ? Int64.max : Int64(clamping: space.f_favail)
            return (Int64(clamping: UInt64(space.f_bavail) * UInt64(space.f_frsize)), files)
        }
    }
}

/// The empty file `store.ID` in a spool, with the id of the store whose bytes are there. The directory under a file system
/// that is not mounted has none, and that of another store has another.
package struct SpoolMark: Sendable {
    package enum Standing: Sendable, Equatable {
        /// The spool of this store.
        case own
        case missing
        /// The spool of another store, with the name of its mark.
        case foreign(String)
    }

    private let spool: SpoolDirectory
    private let name: String

    /// The file that is the mark.
    package var path: String { "\(spool.path)/\(name)" }

    /// - Parameter store: the id of the store.
    package init(_ spool: SpoolDirectory, store: String) {
        self.spool = spool
        name = DataDirectory.uploadsMark(of: store)
    }

    package var standing: Standing {
        get throws(SystemError) {
            let marks = try spool.names().filter { $0.hasPrefix(DataDirectory.uploadsMarkPrefix) }
            return marks.contains(name) ? .own : marks.first.map { .foreign($0) } ?? .missing
        }
    }
}

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
