internal import Glibc

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
