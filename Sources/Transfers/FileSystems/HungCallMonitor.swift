internal import CLinux
internal import Glibc
internal import Host
internal import Synchronization

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
