internal import Glibc
package import Host
package import Store

/// One coordinator for each data directory: an exclusive lock on `run/coordinator.lock`, taken before any
/// bind.
package enum CoordinatorLock {
    /// - Throws: ``StoreError`` `.busy` that names the process which holds it.
    package static func take(in run: RunDirectory) throws(StoreError) -> FileLock {
        guard let lock = try run.take(.coordinator, timeout: RunDirectory.releaseTime) else {
            let holder = run.probe(.coordinator).pid.map { ", process \($0)," } ?? ""
            throw StoreError(
                .busy,
                "another coordinator\(holder) holds \(run.lock(.coordinator)): one is enough for a data directory")
        }
        lock.sign("\(getpid())\n")
        return lock
    }
}
