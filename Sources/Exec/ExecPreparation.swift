internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Transfers

/// Checks and opens everything that a run needs, before its guardian starts. Blocks.
struct ExecPreparation: Sendable {
    /// A file that gets a whole output.
    struct OutputFile: Sendable {
        let path: String
        let file: OpenFile

        var size: Int64 { (try? file.facts(path)).map { Int64($0.st_size) } ?? 0 }
    }

    /// A program that is ready to start.
    struct Prepared: Sendable {
        var program: GuardedProgram
        var temporary: ExecTemporaryDirectory
        /// Files that get an output, open.
        var output: OutputFile?
        var error: OutputFile?
        /// The values of files in ``ExecProgram/set``.
        var secrets: [String]
    }

    let payload: ExecPayload
    let program: ExecProgram
    let directories: ExecDirectories
    let id: CommandID
    let claim: Int
    /// From 1.
    let attempt: Int

    /// - Throws: a ``CommandFailure``, before which nothing has run.
    func make() throws(CommandFailure) -> Prepared {
        let user = try program.lookUpUser()
        let file = try CheckedProgram(program.path, user: user?.user)
        let settings = try program.settings()
        let temporary = try temporaryDirectory(user)
        do throws(CommandFailure) {
            return try prepared(file, user, settings, temporary)
        } catch {
            temporary.remove()
            throw error
        }
    }

    private func prepared(
        _ file: CheckedProgram, _ user: ProgramUser?, _ settings: [(name: String, value: String)],
        _ temporary: ExecTemporaryDirectory
    ) throws(CommandFailure) -> Prepared {
        var environment = ExecEnvironment(
            home: user?.home ?? Self.home, temporary: temporary.path, command: id, claim: claim, attempt: attempt)
        for setting in settings { environment.set(setting.name, setting.value) }
        for variable in payload.environment { environment.set(variable.name, variable.value) }
        var guarded = GuardedProgram(
            path: program.path, device: file.device, inode: file.inode, arguments: payload.arguments(for: program),
            environment: environment.lines, directory: try directory(temporary), lockPath: directories.lock(of: id))
        guarded.input = try input()
        guarded.limits = program.limits.resourceLimits
        guarded.user = user
        guarded.leavesDaemons = program.leavesDaemons
        let (output, error) = (try outputFile(payload.output, user), try outputFile(payload.error, user))
        if let output { guarded.output = .file(output.file) }
        if let error { guarded.error = .file(error.file) }
        let secrets = program.set.compactMap { setting -> String? in
            guard case .file = setting.value else { return nil }
            return settings.first { $0.name == setting.name }?.value
        }
        return Prepared(program: guarded, temporary: temporary, output: output, error: error, secrets: secrets)
    }

    private static var home: String { getenv("HOME").map { String(cString: $0) } ?? "/" }

    // MARK: Directories

    private func temporaryDirectory(_ user: ProgramUser?) throws(CommandFailure) -> ExecTemporaryDirectory {
        let name = ExecTemporaryDirectory.name(of: id, claim: claim)
        if let user { return try ExecTemporaryDirectory(directories.sharedPath(name), user: user) }
        guard mkdir(directories.temporary, 0o700) == 0 || errno == EEXIST else {
            throw CommandFailure(
                .command, reason: "the program is not started: \(SystemError("create", directories.temporary))")
        }
        return try ExecTemporaryDirectory(directories.path(name))
    }

    private func directory(_ temporary: ExecTemporaryDirectory) throws(CommandFailure) -> OpenFile {
        if let base = program.directory { return try ExecDirectory.open(payload.directory ?? base, in: base) }
        do throws(SystemError) {
            return try OpenFile(temporary.path, OpenFile.pathOnly | O_DIRECTORY | O_NOFOLLOW)
        } catch {
            throw CommandFailure(.command, reason: "the program is not started: \(error)")
        }
    }

    // MARK: Files

    private func input() throws(CommandFailure) -> GuardedProgram.Input {
        switch payload.input {
        case .none: return .none
        case .text(let text): return .bytes(Array(text.utf8))
        case .file(let path):
            do throws(SystemError) {
                // Without O_NONBLOCK the open of a FIFO waits for a writer.
                let file = try OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
                guard try file.facts(path).st_mode & S_IFMT == S_IFREG else {
                    throw SystemError(EINVAL, "read the input from", path)
                }
                return .file(file)
            } catch {
                throw Self.failure(error, "the input of the program")
            }
        }
    }

    /// Opens the file of an output, empty, in the directory of the program. It is a new file, because an
    /// earlier run of the command, whose worker died, may still write to the old one.
    private func outputFile(_ rule: ExecOutputRule, _ user: ProgramUser?) throws(CommandFailure) -> OutputFile? {
        guard let path = rule.to, let base = program.directory else { return nil }
        let parent = try ExecDirectory.open(path.parentPath, in: base)
        do throws(SystemError) {
            let file = try emptyFile(path, parent, user)
            if let user, fchown(file.descriptor, user.user, user.group) != 0 { throw SystemError("hand over", path) }
            return OutputFile(path: path, file: file)
        } catch {
            throw Self.failure(error, "the output of the program")
        }
    }

    private func emptyFile(_ path: String, _ parent: OpenFile, _ user: ProgramUser?) throws(SystemError) -> OpenFile {
        let name = "/proc/self/fd/\(parent.descriptor)/\(path.lastPathName)"
        let flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK
        let old: OpenFile
        do throws(SystemError) { old = try OpenFile(name, flags) } catch {
            guard error.code == ENOENT else { throw error }
            return OpenFile(owning: try openFile(name, flags | O_CREAT | O_EXCL, mode: 0o600))
        }
        let facts = try old.facts(path)
        // Another name of the file may be one that this program must not write.
        guard facts.st_mode & S_IFMT == S_IFREG, facts.st_nlink == 1 else {
            throw SystemError(EINVAL, "write the output to", path)
        }
        // The file of another user keeps its owner. In a directory that is not writable the old file is all there is.
        guard facts.st_uid == geteuid() || facts.st_uid == user?.user,
            unlinkat(parent.descriptor, String(path.lastPathName), 0) == 0
        else {
            guard ftruncate(old.descriptor, 0) == 0 else { throw SystemError("empty", path) }
            return old
        }
        let new = OpenFile(owning: try openFile(name, flags | O_CREAT | O_EXCL, mode: 0o600))
        // The readers of the old file may have access by its group and mode; by the mode only where the group is the same.
        let hasGroup = fchown(new.descriptor, UInt32.max, facts.st_gid) == 0
        let mode = facts.st_mode & (hasGroup ? 0o777 : 0o707)
        guard fchmod(new.descriptor, mode) == 0 else { throw SystemError("set the mode of", path) }
        return new
    }

    private static func failure(_ error: SystemError, _ what: String) -> CommandFailure {
        let isFinal = [ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG, EINVAL, EISDIR].contains(error.code)
        return CommandFailure(isFinal ? .final : .command, reason: "\(what) is not usable: \(error)")
    }
}

/// The working directory of a run, opened at its start, so that a later change of the path has no effect.
enum ExecDirectory {
    /// Opens the directory of a payload in that of its program. Blocks.
    /// - Parameters:
    ///   - path: absolute; ``ExecPayload/check(for:)`` has found it in `base`.
    ///   - base: the directory of the program.
    /// - Throws: a final ``CommandFailure`` where a symbolic link stands on the way from `base`, and where
    ///   there is no such directory.
    static func open(_ path: String, in base: String) throws(CommandFailure) -> OpenFile {
        let parent: OpenFile
        do throws(SystemError) { parent = try OpenFile(base, OpenFile.pathOnly | O_DIRECTORY) } catch {
            throw failure(error, base)
        }
        let rest = path.utf8.dropFirst(base.utf8.count).drop { $0 == .slash }
        guard !rest.isEmpty else { return parent }
        let descriptor = clinux_open_beneath(
            parent.descriptor, String(Substring(rest)), OpenFile.pathOnly | O_DIRECTORY)
        guard descriptor >= 0 else { throw failure(SystemError("open", path), path) }
        return OpenFile(owning: descriptor)
    }

    private static func failure(_ error: SystemError, _ path: String) -> CommandFailure {
        switch error.code {
        case ELOOP, EXDEV:
            CommandFailure(
                .final, reason: "the directory \(path) is not used: there is a symbolic link in it; name its target")
        case ENOENT, ENOTDIR, EACCES, ENAMETOOLONG:
            CommandFailure(.final, reason: "the directory \(path) is not used: \(error)")
        default: CommandFailure(.command, reason: "the directory \(path) is not used: \(error)")
        }
    }
}
