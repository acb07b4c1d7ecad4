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
    /// - Parameter programs: all that are configured; their users own directories too.
    func removeIfDue(in directories: ExecDirectories, of programs: [ExecProgram], now: MonotonicTime = .now) {
        let isDue = next.withLock { next in
            guard now >= next else { return false }
            next = now + Self.period
            return true
        }
        guard isDue else { return }
        BlockingPool.shared.perform { Self.remove(in: directories, owners: Self.owners(programs)) }
    }

    /// The claims before one whose directories are looked for: each execution does this.
    private static let claims = 8

    /// Removes the directories of earlier executions of a command, whose lock the caller had. Blocks.
    static func remove(
        of command: CommandID, before claim: Int, in directories: ExecDirectories, owners: Set<UInt32> = [geteuid()]
    ) {
        for earlier in max(claim - claims, 1)..<max(claim, 1) {
            let name = ExecTemporaryDirectory.name(of: command, claim: earlier)
            for path in [directories.path(name), directories.sharedPath(name)] where facts(path, owners) != nil {
                ExecTemporaryDirectory(leftAt: path, .obtained).remove()
            }
        }
    }

    /// Removes each directory whose run has ended, also where its guardian was killed. Blocks.
    static func remove(
        in directories: ExecDirectories, owners: Set<UInt32> = [geteuid()], minAge: Int = minAge
    ) {
        let parents = [(directories.temporary, ""), (ExecDirectories.shared, directories.sharedPrefix)]
        for (parent, prefix) in parents {
            forEachName(in: parent) { name in
                guard name.hasPrefix(prefix),
                    let id = ExecTemporaryDirectory.command(of: String(name.dropFirst(prefix.count))),
                    let found = facts("\(parent)/\(name)", owners), time(nil) - found.st_mtim.tv_sec >= minAge,
                    let lock = FreeLock(path: directories.lock(of: id))
                else { return }
                ExecTemporaryDirectory(leftAt: "\(parent)/\(name)", lock).remove()
            }
        }
    }

    /// This process's user and those of the programs. Blocks.
    static func owners(_ programs: [ExecProgram]) -> Set<UInt32> {
        var owners: Set<UInt32> = [geteuid()]
        for program in programs {
            // A user that cannot be looked up keeps its directories until the next time.
            if let user = try? program.lookUpUser() { owners.insert(user.user) }
        }
        return owners
    }

    /// The facts of a directory; nil where there is none, or another user made it: all may write in /tmp.
    private static func facts(_ path: String, _ owners: Set<UInt32>) -> stat? {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR, owners.contains(facts.st_uid) else {
            return nil
        }
        return facts
    }

    private static func forEachName(in directory: String, _ body: (String) -> Void) {
        guard let listing = opendir(directory) else { return }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            body(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
    }
}
