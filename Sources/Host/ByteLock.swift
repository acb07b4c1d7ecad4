internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A lock on some bytes of a file (fcntl(2), `F_OFD_SETLK`). It is held until this object goes away or its
/// process ends, in whatever way. Two of them exclude each other, in two processes as in one, unless both are
/// shared.
package final class ByteLock: Sendable {
    /// The bytes of a file that a lock covers. They need not exist.
    package struct Target: Sendable, Hashable {
        package var path: String
        package var bytes: Range<Int64>

        package init(_ path: String, _ bytes: Range<Int64>) {
            self.path = path
            self.bytes = bytes
        }
    }

    private let descriptor: CInt
    private let path: String

    private init(descriptor: CInt, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Takes the lock, and makes its file where there is none.
    /// - Returns: nil where the lock is held.
    /// - Throws: where the file cannot be made or opened.
    package static func attempt(_ target: Target, isShared: Bool = false) throws(SystemError) -> ByteLock? {
        let lock = ByteLock(descriptor: try openFile(target.path, O_RDWR | O_CREAT), path: target.path)
        let count = target.bytes.upperBound - target.bytes.lowerBound
        guard clinux_lock_bytes(lock.descriptor, off_t(target.bytes.lowerBound), off_t(count), isShared ? 1 : 0) == 0
        else {
            guard errno == EAGAIN || errno == EACCES else { throw SystemError("lock", target.path) }
            return nil
        }
        // A file that was removed meanwhile proves nothing.
        return lock.isNamed ? lock : nil
    }

    /// Whether another open file has locked one of the bytes exclusively. It takes no lock.
    /// - Throws: where the file cannot be opened. One that is missing is not locked.
    package static func isTaken(_ target: Target) throws(SystemError) -> Bool {
        let descriptor: CInt
        do throws(SystemError) { descriptor = try openFile(target.path, O_RDONLY) } catch {
            guard error.code == ENOENT else { throw error }
            return false
        }
        defer { close(descriptor) }
        let count = target.bytes.upperBound - target.bytes.lowerBound
        return clinux_locked_byte(descriptor, off_t(target.bytes.lowerBound), off_t(count)) >= 0
    }

    /// Whether the path still leads to the locked file.
    package var isNamed: Bool { FileIdentity(of: descriptor) == FileIdentity(at: path) }
}
