internal import Commands
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Since when the server of a store is away: a file in the data directory, so that “sluice status” can say what the processes
/// which work on the store have seen.
///
/// The first process that cannot connect makes it, and the next one that connects removes it.
struct ServerAbsence: Sendable {
    private let path: String

    init(in data: DataDirectory) { path = "\(data.run.path)/server-away" }

    /// Keeps the time of an absence that another process has noticed. Without the directory, nothing is kept.
    func begin() {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    func end() { unlink(path) }

    var since: Timestamp? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Timestamp(
            milliseconds: Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000)
    }
}

extension StoreError {
    /// An error of opening a store, which also says since when its server is away, where a process of the data directory has
    /// noticed that.
    package func withAbsence(notedIn data: DataDirectory) -> StoreError {
        guard code == .unreachable, let since = ServerAbsence(in: data).since else { return self }
        var error = self
        error.message += " The processes of \(data.path) have not reached it since \(since)."
        return error
    }
}
