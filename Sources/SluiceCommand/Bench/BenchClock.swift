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
            usleep(useconds_t(min(left, 0.5) * 1e6))
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
