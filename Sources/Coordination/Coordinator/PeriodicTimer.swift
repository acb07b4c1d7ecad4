internal import Host

/// When a periodic part of the coordinator is due. Pure.
struct PeriodicTimer: Sendable {
    private(set) var next = MonotonicTime.zero

    /// True at most once in each interval.
    mutating func isDue(_ now: MonotonicTime, every interval: Duration) -> Bool {
        guard now >= next else { return false }
        next = now + interval
        return true
    }

    /// True once at `phase` after each multiple of the interval on the monotonic clock.
    mutating func isDue(_ now: MonotonicTime, every interval: Duration, phase: Duration) -> Bool {
        guard now >= next else { return false }
        let intervals = ((now - phase).nanoseconds + interval.nanoseconds) / interval.nanoseconds
        next = MonotonicTime(nanoseconds: intervals * interval.nanoseconds) + phase
        return true
    }

    mutating func fireNow() { next = .zero }
}
