internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Logging
internal import Metrics
internal import NetworkControl
internal import Store
internal import Wire
internal import ZeroMQ

/// When the periodic parts of the tick are due.
struct Timers {
    struct Timer {
        private(set) var next: Int64 = 0

        mutating func isDue(_ now: Int64, every interval: Int64) -> Bool {
            guard now >= next else { return false }
            next = now + interval
            return true
        }

        /// By the clock: at `phase` after each multiple of the interval.
        mutating func isDue(_ now: Int64, every interval: Int64, phase: Int64) -> Bool {
            guard now >= next else { return false }
            next = (now - phase + interval) / interval * interval + phase
            return true
        }

        mutating func fireNow() { next = 0 }
    }

    var beat = Timer()
    var network = Timer()
    var sweep = Timer()
    var control = Timer()
    var givingUp = Timer()
}
