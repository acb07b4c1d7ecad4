internal import CLinux
internal import Glibc

/// The monotonic clock, for benches.
enum BenchClock {
    /// Seconds.
    static var now: Double { Double(clinux_monotonic()) / 1e9 }

    static func sleep(_ seconds: Double) {
        let end = now + seconds
        while true {
            let left = end - now
            guard left > 0 else { return }
            var time = timespec(tv_sec: Int(left), tv_nsec: Int((left - Double(Int(left))) * 1e9))
            nanosleep(&time, nil)
        }
    }

    /// Polls every few milliseconds.
    static func wait(_ what: String, seconds: Double, until isTrue: () throws -> Bool) throws {
        let end = now + seconds
        while try !isTrue() {
            guard now < end else {
                throw ExitError(.internalError, "timed out after \(Int(seconds)) s waiting for \(what)")
            }
            sleep(0.005)
        }
    }
}
