internal import Host
internal import Logging
internal import Store

/// Writes the sign of life of a worker, and makes the lock file of its seat anew where it was removed.
struct SeatUpkeep: Sendable {
    let run: RunDirectory
    let seat: Int
    let lock: FileLock
    let loss: PresenceLoss
    let logger: Logger
    /// Called where the worker must end.
    let stop: @Sendable () -> Void

    /// Call it four times a second.
    /// - Parameter descriptor: of `run/`, through which the sockets connect.
    func run(descriptor: CInt) {
        guard loss.error == nil else { return }
        do throws(StoreError) {
            guard FileIdentity(of: descriptor) == FileIdentity(at: run.path) else {
                throw StoreError(
                    .missing,
                    "\(run.path) was removed or replaced while this worker used it; it ends, because the coordinator cannot "
                        + "reach it any more. Leave the directory in place.")
            }
            lock.beat(in: run.pulse(.seat(seat)))
            if try run.renew(lock, as: .seat(seat)) {
                logger.warning("The lock file of this worker's seat was removed or replaced; it was made anew.")
            }
        } catch {
            // Without descriptors or room, the next call tries again.
            guard error.code == .missing else { return }
            loss.set(error)
            stop()
        }
    }
}
