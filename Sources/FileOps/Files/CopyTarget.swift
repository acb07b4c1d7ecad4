internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Transfers

/// The file that a copy creates or replaces.
struct CopyTarget: Sendable {
    /// An absolute path, not of a symbolic link once ``following(_:)`` has resolved it.
    let path: String

    private static let maxLinks = 40
    /// Earlier executions whose temporary files are looked for.
    private static let maxLeftovers = 1000
    /// The wait after a full or failing disk.
    private static let diskRetry: Duration = .seconds(60)

    var directory: String { path.parentPath }
    var name: Substring { path.lastPathName }

    /// Follows symbolic links, also dangling ones. So the copy grows beside the file that it becomes, and the
    /// link stays.
    /// - Throws: a final ``CommandFailure`` for a loop of links.
    static func following(_ path: String) async throws -> CopyTarget {
        var target = CopyTarget(path: path)
        for _ in 0...maxLinks {
            let link = target
            // Each step runs in the queue of its own file system.
            guard let next = try await BlockingIO.copies.queue(of: target.path).run({ _ in try link.link() }) else {
                return target
            }
            target = CopyTarget(path: next)
        }
        throw CommandFailure(.final, reason: "cannot follow \(path): there are more than \(maxLinks) symbolic links")
    }

    /// The target of the symbolic link at ``path``; nil where it is not a link. Blocks.
    private func link() throws(CommandFailure) -> String? {
        let bytes = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer -> [UInt8]? in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(path, start, buffer.count)
            return count >= 0 ? buffer[..<count].map { UInt8(bitPattern: $0) } : nil
        }
        // Other errors come up again when the copy begins.
        guard let bytes else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(
                .final, reason: "\(path) is a symbolic link to \(String(shellQuoting: bytes)), which is not valid UTF-8"
            )
        }
        return text.beginsWithBytes(of: "/") ? text : "\(directory)/\(text)"
    }

    /// The mode and the owner of a file, which the one that replaces it keeps.
    struct Attributes: Sendable {
        var mode: UInt32
        var user: UInt32
        var group: UInt32
    }

    /// - Returns: nil where no regular file is replaced. Blocks.
    func attributes() -> Attributes? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Attributes(mode: status.st_mode & 0o777, user: status.st_uid, group: status.st_gid)
    }

    /// `a.1.mp4` beside `a.mp4`.
    func numbered(_ number: Int) -> CopyTarget {
        let bytes = Array(path.utf8)
        let start = bytes.count - name.utf8.count
        // A dot at the start makes a hidden file, not an extension.
        let dot = bytes.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > start ? $0 : nil } ?? bytes.count
        return CopyTarget(
            path: String(decoding: bytes[..<dot], as: UTF8.self) + ".\(number)"
                + String(decoding: bytes[dot...], as: UTF8.self))
    }

    /// Checks that a copy may replace the target. Blocks.
    /// - Throws: a final ``CommandFailure`` where the target exists and is not a regular file.
    func requireReplaceable() throws(CommandFailure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let kind: String
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR:
            throw CommandFailure(
                .final, reason: "\(path) is a directory; end its name with a slash to put the file into it")
        case S_IFIFO: kind = "a FIFO"
        case S_IFSOCK: kind = "a socket"
        case S_IFCHR, S_IFBLK: kind = "a device"
        default: kind = "not a regular file"
        }
        throw CommandFailure(.final, reason: "\(path) is \(kind); only a regular file is replaced")
    }

    /// As ``requireReplaceable()``. The target must not be the source either.
    func check(for source: SourceFile) throws(CommandFailure) {
        try requireReplaceable()
        var status = stat()
        guard lstat(path, &status) == 0, source.isSame(as: status) else { return }
        throw CommandFailure(.final, reason: "\(source.path) and \(path) are the same file")
    }

    /// Makes the last folders of the path where they are missing. The folder above them must exist. Blocks.
    /// - Parameters:
    ///   - count: the number of folders.
    ///   - permissions: of the file. A user that may read the file may enter its folder.
    func makeFolders(_ count: Int, permissions: UInt32) throws(CommandFailure) {
        var folders: [CopyTarget] = []
        for _ in 0..<count { folders.append(CopyTarget(path: folders.last?.directory ?? directory)) }
        for folder in folders.reversed() {
            guard mkdir(folder.path, 0o700) == 0 else {
                if errno == EEXIST { continue }
                throw folder.failure(SystemError(), "cannot make the folder \(folder.path)")
            }
            chmod(folder.path, permissions & 0o777 | permissions >> 2 & 0o111 | 0o700)
            let parent = clinux_open(folder.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
            guard parent >= 0 else { continue }
            fsync(parent)
            close(parent)
        }
    }

    /// `.<name>.<id>.<claim>.part` in the directory of the target. A long name is cut, since a name may have
    /// 255 bytes.
    func temporaryPath(_ id: CommandID, claim: Int) -> String {
        var start = name.utf8.prefix(150)
        // Do not cut a character in the middle of its bytes.
        while String(start) == nil { start.removeLast() }
        let file = ".\(String(start) ?? "").\(id).\(claim).part"
        return directory == "/" ? "/\(file)" : "\(directory)/\(file)"
    }

    /// The temporary files of earlier executions, the newest first.
    func temporaryPaths(_ id: CommandID, before claim: Int) -> [String] {
        (max(1, claim - Self.maxLeftovers)..<max(1, claim)).reversed().map { temporaryPath(id, claim: $0) }
    }

    /// Blocks.
    func exists() throws(CommandFailure) -> Bool {
        var status = stat()
        if lstat(path, &status) == 0 { return true }
        guard errno == ENOENT else { throw failure(SystemError(), "cannot examine \(path)") }
        return false
    }

    /// Gives a complete temporary file the name of the target, in one step, and makes the name durable.
    /// Blocks.
    /// - Returns: false where the target exists and `replacing` is false.
    func take(_ part: PartFile, replacing: Bool = true, _ call: FileSystemCall) throws -> Bool {
        // A call that has hung must not publish a copy that was cancelled meanwhile.
        guard call.isWanted else { throw CancellationError() }
        guard (replacing ? rename(part.path, path) : clinux_rename_exclusive(part.path, path)) == 0 else {
            if !replacing, errno == EEXIST { return false }
            throw failure(SystemError(), "cannot put \(path) in its place")
        }
        let parent = clinux_open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        // A drop box may be writable and not readable. A sync of the file makes its name durable too, because it
        // commits all earlier entries of the file system's journal.
        if parent < 0, errno == EACCES, fsync(part.descriptor) == 0 { return true }
        guard parent >= 0 else { throw failure(SystemError(), "cannot write \(directory) to disk") }
        defer { close(parent) }
        guard fsync(parent) == 0 else { throw failure(SystemError(), "cannot write \(directory) to disk") }
        return true
    }

    func failure(_ error: SystemError, _ what: String) -> CommandFailure {
        switch error.code {
        case ENOENT, ENOTDIR:
            CommandFailure(.final, reason: "\(what): the directory \(directory) does not exist; create it and retry")
        case EFBIG: CommandFailure(.final, reason: "\(what): \(error.reason)")
        case EACCES, EPERM, EROFS, EISDIR, ENAMETOOLONG, ELOOP: CommandFailure(.final, reason: "\(what): \(error)")
        case ENOSPC, EDQUOT, EIO:
            CommandFailure(.command, reason: "\(what): \(error)", retryAfter: Self.diskRetry)
        default: CommandFailure(.command, reason: "\(what): \(error)")
        }
    }
}
