internal import CLinux
internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The pages that checkpoints write into the file of a shard while a backup copies it: `run/changes-NN`, four
/// bytes a page. The backup copies them again, so that it need not keep the WAL from being started over.
///
/// A process that checkpoints records the pages first, under the write lock. Without the file there is no
/// backup and nothing to record. A file without its lock is of a backup that was killed.
final class PageChanges {
    private let path: String
    private let descriptor: CInt
    /// Bytes that ``take()`` has returned.
    private var position: off_t = 0

    private init(path: String, descriptor: CInt) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        unlink(path)
        close(descriptor)
    }

    /// Makes the file, from which on checkpoints are recorded.
    /// - Precondition: the caller is in a write transaction of the shard, so that no checkpoint is running.
    /// - Returns: nil where another backup has the file.
    static func begin(in run: RunDirectory, shard: Int) throws(SystemError) -> PageChanges? {
        let path = run.changes(shard: shard)
        let descriptor = try openFile(path, O_RDWR | O_CREAT | O_APPEND)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, FileIdentity(of: descriptor) == FileIdentity(at: path) else {
            close(descriptor)
            return nil
        }
        ftruncate(descriptor, 0)
        return PageChanges(path: path, descriptor: descriptor)
    }

    /// The pages that were recorded since the last call.
    /// - Precondition: the caller is in a write transaction of the shard, so that no checkpoint is running.
    /// - Returns: nil where a checkpoint could not be recorded.
    func take() throws(SystemError) -> Set<UInt32>? {
        guard let identity = FileIdentity(at: path), identity == FileIdentity(of: descriptor) else { return nil }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SystemError("stat", path) }
        var pages = [UInt32](repeating: 0, count: Int((facts.st_size - position) / 4))
        let count = pages.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, position) }
        guard count == pages.count * 4 else { throw SystemError("read", path) }
        position += off_t(count)
        return Set(pages)
    }

    /// Records the pages that a checkpoint is about to write, where a backup copies the shard.
    /// - Precondition: `connection` is in a write transaction.
    /// - Throws: where they can be neither recorded nor the file be removed. Then there must be no checkpoint.
    static func record(in run: RunDirectory, _ connection: Connection) throws(StoreError) {
        let path = run.changes(shard: connection.shard)
        let descriptor = clinux_open(path, O_WRONLY | O_APPEND | O_CLOEXEC, 0)
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return }
            throw StoreError(SystemError("open", path))
        }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
            let pages = try Array(connection.pagesInWAL())
            let count = pages.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count == pages.count * 4 { return }
        }
        // Left by a backup that was killed; or the backup notices that it is gone, and copies in another way.
        guard unlink(path) == 0 || errno == ENOENT else { throw StoreError(SystemError("remove", path)) }
    }
}
