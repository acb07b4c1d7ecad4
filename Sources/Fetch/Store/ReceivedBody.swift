internal import CLinux
internal import Commands
internal import Crypto
internal import Glibc
internal import Host
internal import NIOCore

/// The body of a response as it arrives: in memory up to 64 KiB, then in a file. Every call blocks.
///
/// `@unchecked Sendable`: used by one execution at a time.
final class ReceivedBody: @unchecked Sendable {
    /// The file of a large body, beside the stored ones.
    let path: String
    private var descriptor: CInt = -1
    /// The first 64 KiB.
    private(set) var start: [UInt8] = []
    private var hash = SHA256()
    private(set) var count: Int64 = 0

    /// - Parameter path: of the file, made only for a large body.
    init(path: String) { self.path = path }

    deinit { discard() }

    /// In hexadecimal.
    var sha256: String { Hexadecimal.text(hash.finalize()) }

    func append(_ chunks: [ByteBuffer]) throws(SystemError) {
        for chunk in chunks {
            let error = chunk.withUnsafeReadableBytes { bytes -> SystemError? in
                hash.update(bufferPointer: bytes)
                count += Int64(bytes.count)
                guard count > Int64(ResponseStore.maxInlineBody) else {
                    start += bytes
                    return nil
                }
                if descriptor < 0, let error = moveToFile() { return error }
                return write(bytes)
            }
            if let error { throw error }
        }
    }

    private func moveToFile() -> SystemError? {
        unlink(path)
        descriptor = clinux_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return SystemError("create", path) }
        // A sweep deletes no part of a living worker, whatever its age by the wall clock.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return SystemError("lock", path) }
        return start.withUnsafeBytes { write($0) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> SystemError? {
        var done = 0
        while done < bytes.count {
            let written = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return SystemError("write", path) }
            done += written
        }
        return nil
    }

    /// Gives a large body its name among the stored ones. It replaces a file of the same name, which has the
    /// same bytes.
    /// - Returns: the bytes of a small body; nil for a file.
    func publish(as stored: String) throws(SystemError) -> [UInt8]? {
        guard descriptor >= 0 else { return isSmall ? start : nil }
        let parent = stored.parentPath
        guard mkdir(parent, 0o700) == 0 || errno == EEXIST else { throw SystemError("create the directory", parent) }
        guard fdatasync(descriptor) == 0 else { throw SystemError("write to disk", path) }
        guard rename(path, stored) == 0 else { throw SystemError("rename", path) }
        close(descriptor)
        descriptor = -1
        return nil
    }

    /// Gives the body, of any size, to a reader: a file of its own.
    func handOver(at target: String) throws(SystemError) {
        if descriptor < 0, let error = moveToFile() { throw error }
        guard rename(path, target) == 0 else { throw SystemError("rename", path) }
        close(descriptor)
        descriptor = -1
    }

    /// Whether ``start`` has all bytes.
    var isSmall: Bool { count <= Int64(ResponseStore.maxInlineBody) }

    /// Deletes the file, unless it was published.
    func discard() {
        guard descriptor >= 0 else { return }
        unlink(path)
        close(descriptor)
        descriptor = -1
    }
}
