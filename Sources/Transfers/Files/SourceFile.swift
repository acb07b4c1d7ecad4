internal import CLinux
package import Commands
package import Glibc
package import Host
package import Operations

/// An open source. It is closed with its last reference, so no read uses a descriptor that belongs to another
/// file.
package final class SourceFile: Sendable {
    package let path: String
    package let identity: SourceIdentity
    /// Whether ``identity`` has the true size. It has not for files in /proc or /sys and others with content
    /// but a size of 0. Such a file ends where a read returns nothing.
    package let statesSize: Bool
    private let descriptor: CInt
    private let fileSystem: FileSystemType
    private let isSparse: Bool

    /// Opens a regular file for reading. Blocks.
    /// - Parameters:
    ///   - directories: the file lies beneath one of them, and no symbolic link is on the way there; nil: anywhere.
    ///   - requiringSize: whether a file that does not state its size is refused.
    /// - Throws: ``PayloadError`` of the kind `source` where the file cannot be a source, or `passing` where
    ///   the error may pass.
    package init(path: String, beneath directories: [String]? = nil, requiringSize: Bool = true) throws(PayloadError) {
        let opener =
            if let directories {
                try SourceOpener(path, beneath: directories)
            } else {
                SourceOpener(path)
            }
        // The type is checked before the open: opening a device can have effects, and opening a pipe waits for its
        // other end.
        var status = stat()
        guard opener.examine(&status) else { throw Self.refusal(path, SystemError()) }
        try Self.requireRegular(path, status)
        descriptor = opener.open(O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw Self.refusal(path, SystemError()) }
        self.path = path
        fileSystem = FileSystemType(of: descriptor)
        var opened = stat()
        var result = fstat(descriptor, &opened)
        var hasBytes = false
        if result == 0, opened.st_size == 0, opened.st_mode & S_IFMT == S_IFREG, !fileSystem.generatesContent {
            var byte: UInt8 = 0
            hasBytes = pread(descriptor, &byte, 1, 0) > 0
            // The file may have been written to in between.
            if hasBytes { result = fstat(descriptor, &opened) }
        }
        statesSize = !fileSystem.generatesContent && !(hasBytes && opened.st_size == 0)
        isSparse = Int64(opened.st_blocks) * 512 < Int64(opened.st_size)
        identity = SourceIdentity(opened, hasStableInode: fileSystem.hasStableInodes)
        guard result == 0 else { throw Self.refusal(path, SystemError()) }
        try Self.requireRegular(path, opened)
        guard statesSize || !requiringSize else {
            throw PayloadError(.source, "\(path) does not state its size; use --spool")
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        // Closing a file on a file server is a call to the server.
        if fileSystem.hasStableInodes {
            close(descriptor)
        } else {
            let descriptor = descriptor
            BlockingIO.sources.queue(of: path).cleanUpLater { close(descriptor) }
        }
    }

    private static func requireRegular(_ path: String, _ status: stat) throws(PayloadError) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw PayloadError(.source, "\(path) is a directory; “sluice put” sends the files in it")
        default: throw PayloadError(.source, "\(path) is not a regular file; only regular files can be read")
        }
    }

    private static func refusal(_ path: String, _ error: SystemError) -> PayloadError {
        switch error.code {
        case ENOENT, ENOTDIR:
            PayloadError(
                .source,
                "\(path) does not exist" + (hasReplacement(path) ? "; its name is not valid UTF-8: rename it" : "")
            )
        case EACCES, EPERM: PayloadError(.source, "\(path) may not be read by this user: \(error)")
        case ELOOP, EXDEV, ENAMETOOLONG: PayloadError(.source, "\(path) cannot be opened: \(error)")
        default: PayloadError(.passing, "\(path) cannot be opened now: \(error)")
        }
    }

    /// Whether a program that writes JSON has replaced invalid UTF-8 by U+FFFD, so that the path names
    /// another file or none.
    private static func hasReplacement(_ path: String) -> Bool { path.unicodeScalars.contains("\u{FFFD}") }

    /// Makes the kernel read ahead.
    package func willReadFromStartToEnd() { _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }

    /// Reads until `buffer` is full or the file ends. Blocks.
    /// - Returns: bytes read.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            if count > 0 { done += count } else if count == 0 { break } else if errno != EINTR { throw SystemError() }
        }
        return done
    }

    /// Reads from the page cache, without waiting for a disk.
    /// - Returns: bytes read, 0 at the end of the file; nil where the read would wait, or may do so.
    func readCached(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        let count = clinux_read_cached(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        return count >= 0 ? count : nil
    }

    /// Compares the file with its state when it was opened.
    /// - Throws: a final ``CommandFailure`` that names the change.
    package func requireUnchanged() throws(CommandFailure) {
        let now: SourceIdentity
        do { now = try currentIdentity() } catch {
            throw CommandFailure(.command, reason: "\(path) cannot be examined: \(error)")
        }
        if let difference = now.difference(from: identity) {
            throw Self.changed(path, "while it was sent: \(difference)")
        }
    }

    /// The present state of the open file.
    package func currentIdentity() throws(SystemError) -> SourceIdentity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemError() }
        return SourceIdentity(status, hasStableInode: fileSystem.hasStableInodes)
    }

    /// Whether `other` is the status of this file, under any name.
    package func isSame(as other: stat) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_ino == other.st_ino && status.st_dev == other.st_dev
    }

    /// Deletes the file, unless another file has its name now.
    /// - Returns: why it was not deleted, in a sentence; nil when it no longer exists.
    func remove() -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            let error = SystemError()
            return error.code == ENOENT ? nil : "\(path) cannot be examined: \(error)"
        }
        // If the name is a symbolic link to the source, only the link is removed.
        let named = SourceIdentity(status, hasStableInode: fileSystem.hasStableInodes)
        if status.st_mode & S_IFMT == S_IFREG, let difference = named.difference(from: identity) {
            return "\(path) was kept: \(difference)"
        }
        return unlink(path) == 0 ? nil : "\(path) cannot be deleted: \(SystemError())"
    }

    /// Copies to the same offsets of another descriptor, in the kernel if possible. Skips holes. Blocks.
    /// - Parameters:
    ///   - range: the bytes to copy.
    ///   - maxBytes: the bytes of data after which it stops.
    /// - Returns: the offset that the copy has reached, and the bytes of data copied. The offset is below the
    ///   end of `range` where the copy stopped or the file ends.
    package func copy(
        _ range: Range<Int64>, maxBytes: Int, to target: CInt
    ) throws(SystemError) -> (end: Int64, bytes: Int) {
        var (offset, bytes) = (range.lowerBound, 0)
        while offset < range.upperBound, bytes < maxBytes {
            guard let data = nextData(in: offset..<range.upperBound) else { return (range.upperBound, bytes) }
            let count = Int(min(data.upperBound - data.lowerBound, Int64(maxBytes - bytes)))
            let copied = try copyData(count, at: data.lowerBound, to: target)
            offset = data.lowerBound + Int64(copied)
            bytes += copied
            if copied == 0 { break }
        }
        return (offset, bytes)
    }

    /// The first part of `range` that is not a hole; nil if the whole range is one. Where holes are unknown,
    /// all is data.
    private func nextData(in range: Range<Int64>) -> Range<Int64>? {
        guard isSparse else { return range }
        let start = Int64(clinux_next_data(descriptor, off_t(range.lowerBound)))
        if start < 0 { return errno == ENXIO ? nil : range }
        guard start < range.upperBound else { return nil }
        let end = Int64(clinux_next_hole(descriptor, off_t(start)))
        return start..<(end > start ? min(end, range.upperBound) : range.upperBound)
    }

    private func copyData(_ count: Int, at offset: Int64, to target: CInt) throws(SystemError) -> Int {
        let copied = clinux_copy_range(descriptor, target, count, off_t(offset))
        // Some file systems report 0 before the end of the file, so a read finds out.
        if copied > 0 { return copied }
        switch copied == 0 ? EINVAL : errno {
        case EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EINTR, EPERM: return try copyByReading(count, at: offset, to: target)
        default: throw SystemError()
        }
    }

    private func copyByReading(_ count: Int, at offset: Int64, to target: CInt) throws(SystemError) -> Int {
        let size = min(count, 256 << 10)
        let result = withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { buffer in
            Result { () throws(SystemError) -> Int in
                let count = try self.read(into: buffer, at: offset)
                try Self.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset, to: target)
                return count
            }
        }
        return try result.get()
    }

    /// Writes all of `bytes`. Blocks.
    package static func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, to target: CInt) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let rest = bytes[written...]
            let start = bytes.baseAddress.map { $0 + written }
            let more = pwrite(target, start, rest.count, off_t(offset) + off_t(written))
            if more > 0 { written += more } else if errno != EINTR { throw SystemError() }
        }
    }

    /// The permissions for a copy.
    package var permissions: UInt32 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_mode & 0o777 : 0o600
    }

    /// Makes `target` share the blocks of this file, if the file system supports that.
    package func reflink(to target: CInt) -> Bool { clinux_reflink(descriptor, target) == 0 }

    package static func changed(_ path: String, _ how: String) -> CommandFailure {
        CommandFailure(
            .final,
            reason: "source changed: \(path) changed \(how); submit it again, with --spool to send a private copy"
        )
    }
}

extension SourceFile {
    /// Opens a source and compares it with its state at submit. Blocks.
    /// - Parameter directories: as in ``init(path:beneath:requiringSize:)``.
    /// - Throws: a ``CommandFailure``, final where the source has changed or is gone.
    package convenience init(
        unchanged path: String, _ recorded: SourceIdentity?, beneath directories: [String]? = nil
    ) throws(CommandFailure) {
        do {
            try self.init(path: path, beneath: directories)
        } catch {
            // The error may pass, and the source may be unchanged.
            if error.problem == .passing { throw CommandFailure(.command, reason: error.message) }
            throw CommandFailure(.final, reason: "source changed since it was submitted: \(error)")
        }
        if let recorded, let difference = identity.difference(from: recorded) {
            throw Self.changed(path, "since it was submitted: \(difference)")
        }
    }
}
