internal import Synchronization

/// One call in a ``FileSystemLane``, from its request to its answer. It is answered once: with the result of its work, or
/// before that with an error, and then the result is dropped when it comes.
package final class LaneCall: Sendable {
    private let answered = Atomic<Bool>(false)
    private let cancelledAt = Atomic<Int64>(0)

    package init() {}

    /// Whether it was answered before its result came: nothing waits for that any more.
    package var isAbandoned: Bool { answered.load(ordering: .acquiring) }

    /// Whether the result is still wanted. Work that publishes something asks right before it does.
    package var isWanted: Bool { !isAbandoned && cancelledAt.load(ordering: .acquiring) == 0 }

    /// - Returns: whether this is the first answer.
    func answer() -> Bool { !answered.exchange(true, ordering: .acquiringAndReleasing) }

    /// Records that its task was cancelled at `now`, on the monotonic clock in nanoseconds.
    func cancel(now: Int64) { cancelledAt.store(max(now, 1), ordering: .releasing) }

    func hasBeenCancelled(for time: Duration, now: Int64) -> Bool {
        let cancelled = cancelledAt.load(ordering: .acquiring)
        return cancelled > 0 && .nanoseconds(now - cancelled) >= time
    }
}
