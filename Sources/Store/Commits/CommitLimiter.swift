internal import Host

/// Limits how many shards of a worker commit at the same time: two. The others gather more writes meanwhile.
///
/// A disk takes flushes one after the other, whatever the number of callers. More commits at a time only make
/// each smaller: with all eight at once a commit carried 18 writes, and a quarter of the worker's time went
/// to flushing. A shard that cannot go on (its lock is taken, its disk hangs) must not hold up the others, so
/// the wait is short.
package final class CommitLimiter: Sendable {
    private let slots: MonotonicSemaphore

    /// Longer than the flush of a busy disk.
    private static let timeout = Duration.milliseconds(20)

    package init(_ count: Int = 2) { slots = MonotonicSemaphore(value: count) }

    /// Blocks until another shard may commit, or for 20 ms.
    /// - Returns: true: call ``leave()`` after the commit.
    func enter() -> Bool { slots.wait(timeout: Self.timeout) }

    func leave() { slots.signal() }
}
