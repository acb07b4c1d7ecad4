internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Operations
internal import Transfers

/// Copies a source into the spool.
struct SpooledCopy {
    /// The source.
    let file: String
    /// The copy.
    let path: String

    /// Bytes of data copied between two reports.
    private static let step = 4 << 20
    /// How many times a source is copied that changes meanwhile.
    private static let maxTries = 4

    /// Creates the copy with mode 0600 and syncs it. On an error the copy is deleted. Blocks.
    /// - Parameters:
    ///   - began: is called once the copy exists.
    ///   - copied: is called with the bytes of each step. A negative number takes back bytes that are copied
    ///     again.
    /// - Returns: the size of the copy, and the permissions of the source.
    /// - Throws: ``PayloadError`` where the source cannot be copied, ``SpoolError`` where the copy cannot be
    ///   written, and the errors of `began`.
    func make(
        began: (_ path: String) throws -> Void, copied: (_ bytes: Int64) -> Void
    ) throws -> (size: Int64, permissions: UInt32) {
        let source = try SourceFile(path: file, requiringSize: false)
        let target = clinux_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard target >= 0 else { throw SpoolError(SystemError(), "create", path) }
        defer { close(target) }
        do {
            try began(path)
            let size = try fill(target, from: source, copied)
            guard fsync(target) == 0 else { throw SpoolError(SystemError(), "write", path) }
            return (size, source.permissions)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Copies again if the source has changed meanwhile, other than by growing.
    private func fill(_ target: CInt, from first: SourceFile, _ copied: (Int64) -> Void) throws -> Int64 {
        guard first.statesSize else { return try readToEnd(of: first, into: target, copied) }
        var source = first
        for attempt in 1... {
            let size = source.identity.size
            let done = try take(source, into: target, copied)
            let now: SourceIdentity
            do { now = try source.currentIdentity() } catch {
                throw PayloadError(.passing, "\(file) cannot be examined: \(error)")
            }
            guard let difference = now.difference(from: source.identity), now.size <= size else { return size }
            guard attempt < Self.maxTries else {
                throw PayloadError(
                    .source,
                    "\(file) changed while it was copied, \(attempt) times in a row: \(difference); put it again when "
                        + "no program writes to it")
            }
            copied(-done)
            guard ftruncate(target, 0) == 0 else { throw SpoolError(SystemError(), "write", path) }
            source = try SourceFile(path: file)
        }
        preconditionFailure("the loop ends by its returns")
    }

    /// - Returns: the number of reported bytes.
    private func take(_ source: SourceFile, into target: CInt, _ copied: (Int64) -> Void) throws -> Int64 {
        let size = source.identity.size
        var offset: Int64 = 0
        if source.reflink(to: target) {
            offset = size
            copied(size)
        }
        while offset < size {
            let end: Int64
            do { end = try source.copy(offset..<size, maxBytes: Self.step, to: target).end } catch {
                throw SpoolError(error, "write", path)
            }
            guard end > offset else { break }
            copied(end - offset)
            offset = end
        }
        // A hole at the end is not written, and a source that has grown shares too many blocks.
        guard ftruncate(target, off_t(size)) == 0 else { throw SpoolError(SystemError(), "write", path) }
        return offset
    }

    private func readToEnd(of source: SourceFile, into target: CInt, _ copied: (Int64) -> Void) throws -> Int64 {
        try withUnsafeTemporaryAllocation(byteCount: 256 << 10, alignment: 16) { buffer in
            var offset: Int64 = 0
            while true {
                let count = try read(source, into: buffer, at: offset)
                guard count > 0 else { return offset }
                try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset, to: target)
                offset += Int64(count)
                copied(Int64(count))
            }
        }
    }

    private func read(
        _ source: SourceFile, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(PayloadError) -> Int {
        do { return try source.read(into: buffer, at: offset) } catch {
            throw PayloadError(.source, "\(file) cannot be read: \(error)")
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, to target: CInt) throws(SpoolError) {
        do { try SourceFile.write(bytes, at: offset, to: target) } catch { throw SpoolError(error, "write", path) }
    }
}

/// The spool cannot be used. The exit code is 73 where a file cannot be created, 74 where it cannot be
/// written.
package struct SpoolError: Error, Equatable, CustomStringConvertible {
    /// Whether a file or directory could not be created; otherwise it could not be written.
    package let isCreation: Bool
    package let description: String

    init(_ error: SystemError, _ verb: String, _ path: String) {
        isCreation = verb == "create" && error.code != ENOSPC && error.code != EDQUOT
        let reason = error.code == EFBIG ? error.reason : "\(error.words); make room or check its permissions"
        description = "cannot \(verb) \(path): \(reason)"
    }
}
