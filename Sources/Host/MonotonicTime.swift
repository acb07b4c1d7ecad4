internal import CLinux
internal import Glibc

/// A point on the monotonic clock of this boot (`CLOCK_MONOTONIC`): it stands still while the machine sleeps,
/// and no change of the wall clock moves it. Arithmetic that overflows stops at the ends of the clock, so
/// that ``distantFuture`` plus a wait is still ``distantFuture``.
package struct MonotonicTime: Hashable, Sendable {
    /// Nanoseconds since the boot, for messages, files and C.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The clock, now.
    package static var now: MonotonicTime { MonotonicTime(nanoseconds: Int64(clinux_monotonic())) }

    /// The boot.
    package static let zero = MonotonicTime(nanoseconds: 0)
    package static let distantFuture = MonotonicTime(nanoseconds: .max)

    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let nanoseconds = duration.nanoseconds
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(nanoseconds)
        return MonotonicTime(nanoseconds: overflow ? (nanoseconds > 0 ? .max : .min) : sum)
    }

    package static func - (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let nanoseconds = duration.nanoseconds
        let (difference, overflow) = time.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return MonotonicTime(nanoseconds: overflow ? (nanoseconds > 0 ? .min : .max) : difference)
    }

    package static func - (later: MonotonicTime, earlier: MonotonicTime) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(overflow ? (later > earlier ? .max : .min) : difference)
    }

    package static func += (time: inout MonotonicTime, duration: Duration) { time = time + duration }
}

extension MonotonicTime: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// A point on the clock of this boot that runs also while the machine sleeps (`CLOCK_BOOTTIME`). No change of the wall clock
/// moves it.
///
/// ``MonotonicTime`` stands still during the sleep. So the difference of the two grows by each sleep, and only by that.
package struct BootTime: Hashable, Sendable {
    /// Nanoseconds since the boot.
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The clock, now.
    package static var now: BootTime {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return BootTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package static func - (later: BootTime, earlier: BootTime) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(overflow ? (later > earlier ? .max : .min) : difference)
    }
}

extension BootTime: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
}
