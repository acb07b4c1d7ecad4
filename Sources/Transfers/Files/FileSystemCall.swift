internal import CLinux
internal import Glibc
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

/// The work of one ``FileSystemCall`` and the ways to answer it.
final class FileSystemJob: Sendable {
    /// Does the work. Its result is a closure that hands the result over.
    typealias Work = @Sendable () -> @Sendable () -> Void

    let call: FileSystemCall
    /// False for a clean-up.
    let mayBeRefused: Bool
    let refuse: @Sendable (any Error) -> Void
    private let work: Mutex<Work?>

    init(
        _ call: FileSystemCall, mayBeRefused: Bool, refuse: @escaping @Sendable (any Error) -> Void,
        work: @escaping Work
    ) {
        self.call = call
        self.mayBeRefused = mayBeRefused
        self.refuse = refuse
        self.work = Mutex(work)
    }

    /// Does the work, and releases the objects that the work holds.
    /// - Returns: a closure that hands the result over.
    func perform() -> @Sendable () -> Void {
        let taken = work.withLock { work -> Work? in
            defer { work = nil }
            return work
        }
        guard let taken else { return {} }
        return taken()
    }
}

/// Answers hung calls of all ``FileSystemQueue``s. Its one thread runs while there are calls.
final class HungCallMonitor: Sendable {
    static let shared = HungCallMonitor()

    /// Microseconds between two checks.
    private static let interval: UInt32 = 250_000
    /// Checks without a call after which the thread ends.
    private static let maxIdleChecks = 20

    private struct State {
        var queues: [FileSystemQueue] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Monitors a queue that has received a call, until it has none.
    func monitor(_ queue: FileSystemQueue) {
        let startsThread = state.withLock { state in
            state.queues.append(queue)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard startsThread else { return }
        let code = clinux_start_thread("sluice-hung", { _ in HungCallMonitor.shared.run() }, nil)
        // Without a thread, the next call tries again.
        if code != 0 { state.withLock { $0.isRunning = false } }
    }

    private func run() {
        var idleChecks = 0
        while true {
            usleep(Self.interval)
            let queues = state.withLock { $0.queues }
            idleChecks = queues.isEmpty ? idleChecks + 1 : 0
            let now = MonotonicTime.now
            let idle = queues.filter { !$0.failOverdueCalls(now: now) }
            let ends = state.withLock { state in
                for queue in idle {
                    // A queue that has received a call meanwhile is in the list twice.
                    if let index = state.queues.firstIndex(where: { $0 === queue }) { state.queues.remove(at: index) }
                }
                guard state.queues.isEmpty, idleChecks >= Self.maxIdleChecks else { return false }
                state.isRunning = false
                return true
            }
            if ends { return }
        }
    }
}
