internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The files of an SQLite database that no process uses.
enum DatabaseFile {
    /// Endings of the paths of a database and of its other files.
    static let suffixes = ["", "-wal", "-shm", "-journal"]

    /// Removes a database. A file that is missing counts as removed.
    ///
    /// SQLite replays a `-wal` or `-journal` into whatever file is at its path, so those of an interrupted copy
    /// must not outlive it.
    static func remove(_ path: String) throws(SystemError) {
        for suffix in suffixes where unlink(path + suffix) != 0 && errno != ENOENT {
            throw SystemError("remove", path + suffix)
        }
    }
}
