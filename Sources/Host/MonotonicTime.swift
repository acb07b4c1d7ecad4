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

extension Duration {
    /// Whole nanoseconds, rounded towards zero; a longer duration than 292 years is clamped to `Int64`.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carried) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || carried ? (seconds < 0 ? .min : .max) : sum
    }
}

/// A counting semaphore whose timeouts pass by the monotonic clock.
///
/// `DispatchSemaphore` waits by the wall clock on Linux (`sem_timedwait`): where the clock is set back by an hour during a wait
/// of 100 ms, the wait takes an hour longer.
package final class MonotonicSemaphore: Sendable {
    // Unsafe: `sem_t` is made for several threads, and must not move.
    private nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    /// - Precondition: `value` ≥ 0.
    package init(value: Int) {
        let code = sem_init(semaphore, 0, UInt32(value))
        precondition(code == 0, "A semaphore cannot be made: \(errno)")
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    package func signal() { sem_post(semaphore) }

    package func wait() { while sem_wait(semaphore) != 0, errno == EINTR {} }

    /// - Parameter timeout: 0 or less to look without waiting.
    /// - Returns: false where the timeout passed without a signal.
    package func wait(timeout: Duration) -> Bool { wait(until: .now + max(timeout, .zero)) }

    /// - Returns: false where the time came without a signal.
    package func wait(until end: MonotonicTime) -> Bool {
        while clinux_semaphore_wait(semaphore, end.nanoseconds) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }
}
