internal import Commands
internal import Glibc
internal import Host
internal import Synchronization

/// Removes the directories of runs whose worker died, when a program starts, at most once an hour.
final class ExecLeftovers: Sendable {
    /// The minimum age of a directory, in seconds: a run makes its directory before its guardian has the
    /// lock.
    private static let minAge = 3600

    private static let period: Duration = .seconds(3600)

    private let next = Mutex(MonotonicTime.zero)

    /// Returns at once.
    func removeIfDue(in directories: ExecDirectories, now: MonotonicTime = .now) {
        let isDue = next.withLock { next in
            guard now >= next else { return false }
            next = now + Self.period
            return true
        }
        if isDue { startThread(named: "sluice-exec-old") { Self.remove(in: directories) } }
    }

    /// The claims before one whose directories are looked for: each execution does this.
    private static let claims = 8

    /// Removes the directories of earlier executions of a command, whose lock the caller had. Blocks.
    static func remove(of command: CommandID, before claim: Int, in directories: ExecDirectories) {
        for earlier in max(claim - claims, 1)..<max(claim, 1) {
            let name = ExecTemporaryDirectory.name(of: command, claim: earlier)
            ExecTemporaryDirectory(leftAt: "\(directories.temporary)/\(name)").remove()
        }
    }

    /// Removes each directory whose run has ended, also where its guardian was killed. Blocks.
    static func remove(in directories: ExecDirectories, minAge: Int = minAge) {
        guard let listing = opendir(directories.temporary) else { return }
        defer { closedir(listing) }
        let now = time(nil)
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let id = ExecTemporaryDirectory.command(of: name) else { continue }
            let path = "\(directories.temporary)/\(name)"
            var facts = stat()
            guard lstat(path, &facts) == 0, now - facts.st_mtim.tv_sec >= minAge,
                !LockProbe(path: directories.lock(of: id)).isHeld
            else { continue }
            ExecTemporaryDirectory(leftAt: path).remove()
        }
    }
}
