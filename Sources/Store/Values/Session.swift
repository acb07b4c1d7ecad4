/// A worker in a seat. Its row says that the worker has not been reaped yet.
package struct Session: Sendable, Equatable {
    package var seat: Int
    /// Random, 63 bits: a later worker in the same seat has another one.
    package var epoch: Int64
    package var pid: Int32
    /// Field 22 of /proc/PID/stat: clock ticks since the boot; tells a reused pid from the worker's.
    package var startTime: Int64
    /// Of the machine when the worker started: /proc/sys/kernel/random/boot_id.
    package var bootID: String

    package init(seat: Int, epoch: Int64, pid: Int32, startTime: Int64, bootID: String) {
        self.seat = seat
        self.epoch = epoch
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
    }
}
