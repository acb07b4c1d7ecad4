internal import Commands
internal import Glibc
internal import Host
internal import Transfers

/// The file of a program, examined by its descriptor at the start of an execution. The guardian starts no
/// other file at the path. Blocks.
struct CheckedProgram: Sendable, Equatable {
    let device: UInt64
    let inode: UInt64

    /// Checks that the file is regular, that its owner is root, the worker's user or the program's user, that
    /// only the owner may write it, and that no other user can replace it in its directories.
    /// - Parameters:
    ///   - user: of the program; nil: of the worker.
    ///   - worker: the user of the worker.
    /// - Throws: a final ``CommandFailure``, or a charged one where a later check may succeed.
    init(_ path: String, user: UInt32? = nil, worker: UInt32 = geteuid()) throws(CommandFailure) {
        let owners: Set<UInt32> = [0, worker, user ?? worker]
        let facts: stat
        do throws(SystemError) {
            facts = try OpenFile(path, OpenFile.pathOnly | O_NOFOLLOW).facts(path)
        } catch {
            throw Self.failure(error, path)
        }
        switch facts.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFLNK: throw Self.refusal(path, "it is a symbolic link; name its target in sluice.yaml")
        case S_IFDIR: throw Self.refusal(path, "it is a directory; name a file in sluice.yaml")
        default: throw Self.refusal(path, "it is not a regular file; name a file in sluice.yaml")
        }
        guard facts.st_mode & 0o022 == 0 else {
            throw Self.refusal(path, "other users than its owner may write it; run chmod go-w on it")
        }
        guard owners.contains(facts.st_uid) else {
            throw Self.refusal(path, "it belongs to user \(facts.st_uid), which could change it; run chown root on it")
        }
        try Self.checkDirectories(of: path, owners)
        device = UInt64(facts.st_dev)
        inode = UInt64(facts.st_ino)
    }

    private static func checkDirectories(of path: String, _ owners: Set<UInt32>) throws(CommandFailure) {
        var directory = path.parentPath
        while true {
            var facts = stat()
            guard stat(directory, &facts) == 0 else { throw failure(SystemError("examine", directory), path) }
            // In a directory with the sticky bit, only the owner of a file can replace it.
            let isShared = facts.st_mode & 0o002 != 0 && facts.st_mode & S_ISVTX == 0
            guard !isShared, owners.contains(facts.st_uid) else {
                throw refusal(
                    path, "another user could replace it in \(directory); let only root or the worker write there")
            }
            if directory == "/" { return }
            directory = directory.parentPath
        }
    }

    private static func refusal(_ path: String, _ reason: String) -> CommandFailure {
        CommandFailure(.final, reason: "\(path) is not started: \(reason)")
    }

    private static func failure(_ error: SystemError, _ path: String) -> CommandFailure {
        let isFinal = [ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG].contains(error.code)
        return CommandFailure(isFinal ? .final : .command, reason: "\(path) is not started: \(error)")
    }
}
