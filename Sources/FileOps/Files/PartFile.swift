internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Transfers

/// The temporary file of a copy or a download. It is closed with its last reference.
///
/// Its descriptor holds a flock(2). A hung call keeps the lock after its execution has ended. Then the next
/// execution does not continue this file but deletes its name, so a late write or rename of that call has no
/// visible effect.
final class PartFile: Sendable {
    let path: String
    let descriptor: CInt
    /// Valid bytes of earlier executions.
    let length: Int64
    /// Bytes of those that survive a loss of power.
    let synced: Int64
    private let fileSystem: FileSystemType

    /// Blocks.
    private init(path: String, descriptor: CInt, length: Int64 = 0, synced: Int64 = 0) {
        self.path = path
        self.descriptor = descriptor
        fileSystem = FileSystemType(of: descriptor)
        self.length = length
        self.synced = synced
    }

    deinit {
        let descriptor = descriptor
        // Closing a file on a file server is a call to the server.
        if fileSystem.hasStableInodes {
            close(descriptor)
        } else {
            BlockingIO.copies.queue(of: path).cleanUpLater { close(descriptor) }
        }
    }

    /// Creates an empty file. Blocks.
    static func create(_ path: String) throws(SystemError) -> PartFile {
        unlink(path)
        let descriptor = clinux_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError() }
        flock(descriptor, LOCK_EX | LOCK_NB)
        return PartFile(path: path, descriptor: descriptor)
    }

    /// Renames the newest file of earlier executions, to continue it, and deletes the others. Blocks.
    /// - Parameters:
    ///   - earlier: their paths, the newest first.
    ///   - checkpoint: the stored state of the newest one; nil: none can be continued.
    ///   - size: the maximum length; bytes of the source.
    /// - Returns: nil where no file can be continued.
    static func adopt(
        _ earlier: [String], as path: String, _ checkpoint: (boot: String, synced: Int64)?, size: Int64
    ) -> PartFile? {
        let adopted = checkpoint == nil ? nil : earlier.first { rename($0, path) == 0 }
        for path in earlier { unlink(path) }
        guard let checkpoint, adopted != nil else { return nil }
        let descriptor = clinux_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard descriptor >= 0 else {
            unlink(path)
            return nil
        }
        var status = stat()
        var isOurs =
            fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
            && status.st_nlink == 1 && (flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        let written = min(Int64(status.st_size), size)
        let length = validLength(of: written, checkpoint, boot: ProcessIdentity.bootID)
        isOurs = isOurs && ftruncate(descriptor, off_t(length)) == 0
        guard isOurs else {
            unlink(path)
            close(descriptor)
            return nil
        }
        return PartFile(
            path: path, descriptor: descriptor, length: length, synced: min(max(checkpoint.synced, 0), written))
    }

    /// The bytes of a file that are valid: all of them in the boot that wrote them, later those that were synced.
    /// - Parameters:
    ///   - length: of the file.
    ///   - boot: of the machine, now; empty where it cannot be read.
    static func validLength(of length: Int64, _ checkpoint: (boot: String, synced: Int64), boot: String) -> Int64 {
        boot == checkpoint.boot && !boot.isEmpty ? length : min(max(checkpoint.synced, 0), length)
    }

    /// Sets the length, because a hole at the end does not, and the permissions, and syncs the file. Blocks.
    /// - Parameter owner: of the file that this one replaces; user and group are kept as far as this process may set
    ///   them, as cp(1) and rclone do.
    func complete(size: Int64, mode: UInt32, owner: CopyTarget.Attributes? = nil) throws(SystemError) {
        if let owner {
            var status = stat()
            let isSame = fstat(descriptor, &status) == 0 && status.st_uid == owner.user && status.st_gid == owner.group
            if !isSame, fchown(descriptor, owner.user, owner.group) != 0 { _ = fchown(descriptor, .max, owner.group) }
        }
        guard ftruncate(descriptor, off_t(size)) == 0, fchmod(descriptor, mode) == 0, fdatasync(descriptor) == 0 else {
            throw SystemError()
        }
    }

    /// `UTIME_OMIT` of futimens(2): the time of access stays.
    private static let omitted = (1 << 30) - 2

    /// Sets the time of modification. Blocks.
    /// - Returns: false with `errno` where it cannot be set.
    func setModified(_ time: Timestamp) -> Bool {
        let (seconds, rest) = time.milliseconds.quotientAndRemainder(dividingBy: 1000)
        let modified = timespec(tv_sec: Int(seconds), tv_nsec: Int(max(rest, 0)) * 1_000_000)
        return futimens(descriptor, [timespec(tv_sec: 0, tv_nsec: Self.omitted), modified]) == 0
    }

    /// Deletes the file, unless it has been renamed to its target. Blocks.
    func remove() { unlink(path) }
}
