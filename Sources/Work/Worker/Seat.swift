internal import Glibc
package import Host
package import Store

/// The numbered identity of a worker: the lowest free `run/seat-NN.lock`, held by `flock` for life.
///
/// The lock proves that the worker lives. A process that obtains it knows that the worker is dead, because
/// the kernel releases the lock with the process and with nothing else.
package struct Seat: ~Copyable {
    package let number: Int
    /// The number of this process in the seat: random, 63 bits, never 0.
    package let epoch: Int64
    package let lock: FileLock

    /// - Throws: ``StoreError`` where no seat is free, or a lock cannot be made.
    package static func take(in run: RunDirectory) throws(StoreError) -> Seat {
        let seats = RunDirectory.Lock.seats
        for number in seats {
            if let lock = try run.take(.seat(number)) {
                let epoch = Int64.random(in: 1...Int64.max)
                // Before its session and its hello: the earlier worker of this seat is known to be gone.
                lock.sign("\(epoch)\n")
                return Seat(number: number, epoch: epoch, lock: lock)
            }
        }
        throw StoreError(
            .busy, "all \(seats.count) seats in \(run.path) are taken: end a worker before starting another")
    }

    /// The row of this worker in each shard.
    package func session() -> Session {
        let pid = getpid()
        return Session(
            seat: number, epoch: epoch, pid: pid, startTime: ProcessIdentity.startTime(of: pid) ?? 0,
            bootID: ProcessIdentity.bootID)
    }
}
