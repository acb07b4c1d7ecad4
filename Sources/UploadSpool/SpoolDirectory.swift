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
