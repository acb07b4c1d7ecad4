internal import CLinux
internal import Commands
internal import Glibc
internal import Work

/// An open source. It closes with its last reference, so a read under way never meets a descriptor that means another file.
final class SourceFile: Sendable {
    let path: String
    let identity: SourceIdentity
    private let descriptor: CInt

    /// Opens a regular file for reading. Blocks.
    /// - Throws: ``PayloadError`` that says why it cannot be a source (`source`), or not now (`passing`).
    init(path: String) throws(PayloadError) {
        // Looked at before it is opened: opening a device can do things, and opening a pipe waits for its other end.
        var status = stat()
        guard stat(path, &status) == 0 else { throw Self.refusal(path, SystemError()) }
        try Self.requireRegular(path, status)
        descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
        guard descriptor >= 0 else { throw Self.refusal(path, SystemError()) }
        self.path = path
        var opened = stat()
        let result = fstat(descriptor, &opened)
        identity = SourceIdentity(opened)
        guard result == 0 else { throw Self.refusal(path, SystemError()) }
        try Self.requireRegular(path, opened)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static func requireRegular(_ path: String, _ status: stat) throws(PayloadError) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw PayloadError(.source, "\(path) is a directory; name the files in it one by one")
        default: throw PayloadError(.source, "\(path) is no regular file; only regular files can be uploaded")
        }
    }

    private static func refusal(_ path: String, _ error: SystemError) -> PayloadError {
        switch error.code {
        case ENOENT, ENOTDIR:
            PayloadError(
                .source,
                "\(path) does not exist" + (isMangled(path) ? "; its name is not valid UTF-8: rename it" : ""))
        case EACCES, EPERM: PayloadError(.source, "\(path) may not be read by this user: \(error)")
        case ELOOP, ENAMETOOLONG: PayloadError(.source, "\(path) cannot be opened: \(error)")
        default: PayloadError(.passing, "\(path) cannot be opened now: \(error)")
        }
    }

    /// What stands for bytes that are no UTF-8: the path names another file then, or none.
    private static func isMangled(_ path: String) -> Bool { path.unicodeScalars.contains("\u{FFFD}") }

    /// Tells the kernel to read ahead generously.
    func willReadFromStartToEnd() { _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }

    /// Reads until `buffer` is full or the file ends. Blocks.
    /// - Returns: bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            if count > 0 { done += count } else if count == 0 { break } else if errno != EINTR { throw SystemError() }
        }
        return done
    }

    /// Reads what the page cache holds, without waiting for a disk.
    /// - Returns: bytes read, 0 at the end of the file; nil where it would have to wait, or cannot tell.
    func readCached(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        let count = clinux_read_cached(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        return count >= 0 ? count : nil
    }

    /// Compares the file with what it was when it was opened.
    /// - Throws: a final ``Failure`` that says what changed.
    func requireUnchanged() throws(Failure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Failure(.command, reason: "\(path) cannot be examined: \(SystemError())")
        }
        if let difference = SourceIdentity(status).difference(from: identity) {
            throw Self.changed(path, "while it was sent: \(difference)")
        }
    }

    /// Deletes the file, unless its name stands for another one by now.
    /// - Returns: why not, in a sentence; nil when it is gone.
    func remove() -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            let error = SystemError()
            return error.code == ENOENT ? nil : "\(path) cannot be examined: \(error)"
        }
        // A symbolic link to the source is removed as a link: its target belongs to somebody else.
        if status.st_mode & S_IFMT == S_IFREG, let difference = SourceIdentity(status).difference(from: identity) {
            return "\(path) was kept: \(difference)"
        }
        return unlink(path) == 0 ? nil : "\(path) cannot be deleted: \(SystemError())"
    }

    /// Copies `count` bytes at `offset` to another descriptor, in the kernel where it can. Blocks.
    /// - Returns: bytes copied; 0 at the end of the file.
    func copy(_ count: Int, at offset: Int64, to target: CInt) throws(SystemError) -> Int {
        let copied = clinux_copy_range(descriptor, target, count, off_t(offset))
        if copied >= 0 { return copied }
        switch errno {
        case EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EINTR, EPERM: return try copyByHand(count, at: offset, to: target)
        default: throw SystemError()
        }
    }

    private func copyByHand(_ count: Int, at offset: Int64, to target: CInt) throws(SystemError) -> Int {
        let size = min(count, 256 << 10)
        let result = withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { buffer in
            Result { () throws(SystemError) -> Int in
                let read = try self.read(into: buffer, at: offset)
                var written = 0
                while written < read {
                    let rest = buffer[written..<read]
                    let start = buffer.baseAddress.map { $0 + rest.startIndex }
                    let more = pwrite(target, start, rest.count, off_t(offset) + off_t(written))
                    if more > 0 { written += more } else if errno != EINTR { throw SystemError() }
                }
                return written
            }
        }
        return try result.get()
    }

    /// The permissions that a copy gets.
    var permissions: UInt32 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_mode & 0o777 : 0o600
    }

    /// Makes `target` share the blocks of this file, where the file system has that.
    func reflink(to target: CInt) -> Bool { clinux_reflink(descriptor, target) == 0 }

    static func changed(_ path: String, _ how: String) -> Failure {
        Failure(
            .final,
            reason: "source changed: \(path) changed \(how); submit it again, or with --spool to send a copy of its own"
        )
    }
}
