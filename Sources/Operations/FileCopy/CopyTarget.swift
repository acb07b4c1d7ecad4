internal import Commands
internal import Glibc
internal import Host
internal import Work

/// The file that a copy creates or replaces.
struct CopyTarget: Sendable {
    /// An absolute path, not of a symbolic link once ``following(_:)`` has resolved it.
    let path: String

    private static let maxLinks = 40

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
                .final, reason: "\(path) is a directory; end the URL with a slash to put the file into it")
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

    /// `.<name>.<id>.<claim>.part` in the directory of the target. A long name is cut, since a name may have
    /// 255 bytes.
    func temporaryPath(_ id: CommandID, claim: Int) -> String {
        var start = name.utf8.prefix(150)
        // Do not cut a character in the middle of its bytes.
        while String(start) == nil { start.removeLast() }
        let file = ".\(String(start) ?? "").\(id).\(claim).part"
        return directory == "/" ? "/\(file)" : "\(directory)/\(file)"
    }

    func failure(_ error: SystemError, _ what: String) -> CommandFailure {
        switch error.code {
        case ENOENT, ENOTDIR:
            CommandFailure(.final, reason: "\(what): the directory \(directory) does not exist; create it and retry")
        case EFBIG: CommandFailure(.final, reason: "\(what): \(error.reason)")
        case EACCES, EPERM, EROFS, EISDIR, ENAMETOOLONG, ELOOP: CommandFailure(.final, reason: "\(what): \(error)")
        default: CommandFailure(.command, reason: "\(what): \(error)")
        }
    }
}
