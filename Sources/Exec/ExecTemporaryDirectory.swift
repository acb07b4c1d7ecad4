internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Synchronization
internal import Transfers

/// The directory of a run for its temporary files (TMPDIR), which only its user may enter. Blocks.
struct ExecTemporaryDirectory: Sendable, Equatable {
    let path: String

    /// Makes the directory. One that is left from an execution that died is removed first.
    /// - Parameter user: of the program; nil: of this process.
    init(_ path: String, user: ProgramUser? = nil) throws(CommandFailure) {
        self.path = path
        remove()
        guard mkdir(path, 0o700) == 0 else { throw Self.failure(SystemError("create", path)) }
        guard let user, chown(path, user.user, user.group) != 0 else { return }
        let error = SystemError("hand over", path)
        rmdir(path)
        throw Self.failure(error)
    }

    /// A directory that an earlier run has left.
    /// - Parameter lock: of the command; proves that the run has ended.
    init(leftAt path: String, _ lock: FreeLock) { self.path = path }

    /// The name of the directory of one execution.
    static func name(of command: CommandID, claim: Int) -> String { "\(command).\(claim)" }

    /// The command of a directory; nil for a name of another form.
    static func command(of name: String) -> CommandID? {
        guard let dot = name.firstIndex(of: "."), Int(name[name.index(after: dot)...]) != nil else { return nil }
        return CommandID(String(name[..<dot]))
    }

    private static func failure(_ error: SystemError) -> CommandFailure {
        let advice = error.code == EPERM ? "; give the worker \(ProgramUser.capabilities)" : ""
        return CommandFailure(.command, reason: "the directory for temporary files is missing: \(error)\(advice)")
    }

    /// Removes the directory and everything in it, however deep, without following a symbolic link. A file
    /// that cannot be removed stays, and after 60 s the rest too: a daemon may make files for ever.
    func remove() {
        let descriptor = clinux_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return }
        let root = OpenFile(owning: descriptor)
        var next = 0
        let end = MonotonicTime.now + Self.removalTime
        while Self.empty(root.descriptor, depth: 0, root.descriptor, &next), MonotonicTime.now < end {}
        rmdir(path)
    }

    private static let removalTime: Duration = .seconds(60)

    /// Deeper directories move up into the root before they are emptied, so that no depth needs more
    /// descriptors or more stack.
    private static let maxDepth = 32

    /// Removes the entries of a directory, or moves them into `root`.
    /// - Returns: whether something has changed, so that another pass makes sense.
    private static func empty(_ directory: CInt, depth: Int, _ root: CInt, _ next: inout Int) -> Bool {
        var hasChanged = false
        for name in names(in: directory) {
            if unlinkat(directory, name, 0) == 0 || unlinkat(directory, name, AT_REMOVEDIR) == 0 {
                hasChanged = true
                continue
            }
            // To be listed, and to be moved, since its entry “..” changes.
            _ = fchmodat(directory, name, 0o700, AT_SYMLINK_NOFOLLOW)
            guard depth < maxDepth else {
                repeat { next += 1 } while faccessat(root, "\(next)", F_OK, AT_SYMLINK_NOFOLLOW) == 0
                if renameat(directory, name, root, "\(next)") == 0 { hasChanged = true }
                continue
            }
            let descriptor = clinux_openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            let child = OpenFile(owning: descriptor)
            if empty(child.descriptor, depth: depth + 1, root, &next) { hasChanged = true }
            unlinkat(directory, name, AT_REMOVEDIR)
        }
        return hasChanged
    }

    private static func names(in directory: CInt) -> [[CChar]] {
        // A description of its own: closedir closes it, and each pass begins at the first entry.
        let descriptor = clinux_openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        guard let stream = fdopendir(descriptor) else {
            close(descriptor)
            return []
        }
        defer { closedir(stream) }
        var names: [[CChar]] = []
        while let entry = readdir(stream) {
            let name: [CChar] = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                bytes.prefix { $0 != 0 }.map { CChar(bitPattern: $0) } + [0]
            }
            if name != [0x2E, 0] && name != [0x2E, 0x2E, 0] { names.append(name) }
        }
        return names
    }
}

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
