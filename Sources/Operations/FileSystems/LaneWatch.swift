internal import CLinux
internal import Glibc
internal import Synchronization

/// One thread for all lanes that looks for calls which have no answer, while there are calls.
final class LaneWatch: Sendable {
    static let shared = LaneWatch()

    /// Microseconds between two looks.
    private static let interval: UInt32 = 250_000
    /// Looks without a call after which the thread ends.
    private static let maxIdleLooks = 20

    private struct State {
        var lanes: [FileSystemLane] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Looks after a lane that has got a call, until it has none.
    func watch(_ lane: FileSystemLane) {
        let starts = state.withLock { state in
            state.lanes.append(lane)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard starts else { return }
        let code = clinux_start_thread("sluice-lanes", { _ in LaneWatch.shared.run() }, nil)
        // The next call tries again.
        if code != 0 { state.withLock { $0.isRunning = false } }
    }

    private func run() {
        var idleLooks = 0
        while true {
            usleep(Self.interval)
            let lanes = state.withLock { $0.lanes }
            idleLooks = lanes.isEmpty ? idleLooks + 1 : 0
            let now = Int64(clinux_monotonic())
            let quiet = lanes.filter { !$0.look(now: now) }
            let ends = state.withLock { state in
                for lane in quiet {
                    // One that has got a call since stands there twice.
                    if let index = state.lanes.firstIndex(where: { $0 === lane }) { state.lanes.remove(at: index) }
                }
                guard state.lanes.isEmpty, idleLooks >= Self.maxIdleLooks else { return false }
                state.isRunning = false
                return true
            }
            if ends { return }
        }
    }
}
