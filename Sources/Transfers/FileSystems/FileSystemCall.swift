internal import Host
internal import Synchronization

/// One call in a ``FileSystemQueue``, from its request to its answer. It is answered once: with the result of
/// its work, or earlier with an error. A result that comes after the answer is dropped.
package final class FileSystemCall: Sendable {
    private let answered = Atomic<Bool>(false)
    private let cancelledAt = Mutex<MonotonicTime?>(nil)

    package init() {}

    /// Whether the call was answered before its result came.
    package var isAbandoned: Bool { answered.load(ordering: .acquiring) }

    /// Whether the result is still needed. Work that publishes something checks this right before it does so.
    package var isWanted: Bool { !isAbandoned && cancelledAt.withLock { $0 == nil } }

    /// - Returns: whether this is the first answer.
    func answer() -> Bool { !answered.exchange(true, ordering: .acquiringAndReleasing) }

    /// Records when the task of the call was cancelled.
    func cancel(now: MonotonicTime) { cancelledAt.withLock { $0 = now } }

    func hasBeenCancelled(for time: Duration, now: MonotonicTime) -> Bool {
        cancelledAt.withLock { cancelledAt in cancelledAt.map { now - $0 >= time } ?? false }
    }
}
