#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A file of a shard at one moment.
struct FileState: Equatable {
    var bytes: Int64 = 0
    /// The time of the last change, since 1970.
    var modified: Duration = .zero

    /// Looks at the WAL of the shard at `path`.
    init(walOf path: String) { self.init(path + "-wal") }

    /// Looks at the file at `path`; without a file all fields are zero. stat(2) needs no descriptor: a process that
    /// opens and closes a file of SQLite loses its locks on that file (fcntl(2)).
    init(_ path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return }
        bytes = Int64(facts.st_size)
        modified = .seconds(facts.st_mtim.tv_sec) + .nanoseconds(facts.st_mtim.tv_nsec)
    }
}
