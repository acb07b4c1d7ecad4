internal import Commands

/// The incarnation of a worker that sits in a seat.
package struct Session: Sendable, Equatable {
    package var seat: Int
    /// Random, 63 bits.
    package var epoch: Int64
    package var pid: Int32
    /// Field 22 of /proc/PID/stat: clock ticks since boot; tells a reused pid from the real one.
    package var startTime: Int64
    /// /proc/sys/kernel/random/boot_id
    package var bootID: String

    package init(seat: Int, epoch: Int64, pid: Int32, startTime: Int64, bootID: String) {
        self.seat = seat
        self.epoch = epoch
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
    }
}
