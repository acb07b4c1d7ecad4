internal import CLinux
internal import Glibc
internal import Host

/// The temporary file that a copy grows in. It closes with its last reference.
///
/// Its descriptor holds a flock(2). A call that hangs in the kernel keeps it after its execution was stopped; then the next
/// execution does not go on with this file, and what the late call still writes or renames is in a file without a name.
final class PartFile: Sendable {
    let path: String
    let descriptor: CInt
    /// Bytes that an earlier execution has copied.
    let length: Int64
    /// Bytes of those that a loss of power leaves.
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
        // To close a file of a file server is a call to it.
        if fileSystem.keepsInodes {
            close(descriptor)
        } else {
            BlockingIO.copies.lane(of: path).clearLater { close(descriptor) }
        }
    }

    /// Makes an empty one. Blocks.
    static func create(_ path: String) throws(SystemError) -> PartFile {
        unlink(path)
        let descriptor = clinux_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError() }
        flock(descriptor, LOCK_EX | LOCK_NB)
        return PartFile(path: path, descriptor: descriptor)
    }

    /// Takes over the newest file that earlier executions have left, under a new name, and deletes the others. Blocks.
    /// - Parameters:
    ///   - earlier: their paths, the newest first.
    ///   - checkpoint: what the store knows of the newest; nil: none can be used.
    ///   - size: bytes of the source.
    /// - Returns: nil where nothing is left that could be used.
    static func adopt(
        _ earlier: [String], as path: String, _ checkpoint: (boot: String, synced: Int64)?, size: Int64
    ) -> PartFile? {
        let adopted = checkpoint == nil ? nil : earlier.first { rename($0, path) == 0 }
        for path in earlier { unlink(path) }
        guard let checkpoint, adopted != nil else { return nil }
        let descriptor = clinux_open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard descriptor >= 0 else {
            unlink(path)
            return nil
        }
        var status = stat()
        var isOurs =
            fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
            && status.st_nlink == 1 && (flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        let written = min(Int64(status.st_size), size)
        let safe = min(max(checkpoint.synced, 0), written)
        let length = checkpoint.boot == ProcessIdentity.bootID && !checkpoint.boot.isEmpty ? written : safe
        isOurs = isOurs && ftruncate(descriptor, off_t(length)) == 0
        guard isOurs else {
            unlink(path)
            close(descriptor)
            return nil
        }
        return PartFile(path: path, descriptor: descriptor, length: length, synced: safe)
    }

    /// Makes it whole and durable: its full length, which a hole at the end does not give it, and its permissions. Blocks.
    func complete(size: Int64, mode: UInt32) throws(SystemError) {
        guard ftruncate(descriptor, off_t(size)) == 0, fchmod(descriptor, mode) == 0, fdatasync(descriptor) == 0 else {
            throw SystemError()
        }
    }

    /// Deletes the file; one that has been renamed is out of reach. Blocks.
    func remove() { unlink(path) }
}
