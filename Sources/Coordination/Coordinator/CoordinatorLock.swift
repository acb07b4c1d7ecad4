internal import Glibc
package import Store

/// One coordinator for each data directory: an exclusive lock on `run/coordinator.lock`, taken before any bind.
package enum CoordinatorLock {
    /// Who only looks whether there is a coordinator has the lock for a moment.
    private static let timeout: Duration = .milliseconds(500)

    /// - Throws: ``StoreError`` `.busy` naming who holds it.
    package static func take(_ path: String) throws(StoreError) -> FileLock {
        guard let lock = try FileLock.attempt(path, timeout: timeout) else {
            let holder = LockProbe(path: path).pid.map { ", process \($0)," } ?? ""
            throw StoreError(
                .busy, "another coordinator\(holder) holds \(path): one is enough for a data directory")
        }
        lock.sign("\(getpid())\n")
        return lock
    }
}
