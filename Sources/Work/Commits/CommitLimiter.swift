internal import Dispatch

/// How many shards of a worker commit at the same time: two. The others gather more writes meanwhile.
///
/// A disk takes flushes one after the other, however many ask, so more commits at a time only make each of them smaller:
/// with all eight at once a commit carried 18 writes, and a quarter of the worker's time went to flushing. A shard that
/// cannot get on (its lock is taken, its disk hangs) must not hold up the others, so nobody waits for long.
package final class CommitLimiter: Sendable {
    private let lanes: DispatchSemaphore

    /// Longer than a busy disk's flush.
    private static let timeout = DispatchTimeInterval.milliseconds(20)

    package init(_ count: Int = 2) { lanes = DispatchSemaphore(value: count) }

    /// Blocks until a lane is free, or for 20 ms. - Returns: whether one was taken, to be left.
    func enter() -> Bool { lanes.wait(timeout: .now() + Self.timeout) == .success }

    func leave() { lanes.signal() }
}
