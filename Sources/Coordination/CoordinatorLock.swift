internal import CLinux
internal import Glibc
package import Store

/// One coordinator for each data directory: an exclusive lock on `run/coordinator.lock`, taken before any bind.
package struct CoordinatorLock: ~Copyable, Sendable {
    private let descriptor: CInt

    /// - Throws: ``StoreError`` `.busy` naming who holds it.
    package init(_ path: String) throws(StoreError) {
        descriptor = clinux_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(.permission, "the lock \(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = Self.holder(descriptor)
            close(descriptor)
            throw StoreError(
                .busy,
                "another coordinator\(holder.map { ", process \($0)," } ?? "") holds \(path): one is enough for a data directory"
            )
        }
        let text = "\(getpid())\n"
        ftruncate(descriptor, 0)
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }

    /// The process that the lock file names; nil for an empty or foreign text.
    private static func holder(_ descriptor: CInt) -> Int32? {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return nil }
            return Int32(String(decoding: buffer[..<count], as: UTF8.self).prefix { $0.isNumber })
        }
    }

    deinit { close(descriptor) }
}
