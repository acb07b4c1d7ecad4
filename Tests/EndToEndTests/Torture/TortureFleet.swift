import Foundation
import Synchronization
import TestSupport

/// The processes of a run, a slot each, which are started again whenever they end, but for a halt.
final class TortureFleet: Sendable {
    private struct State {
        /// The process of each slot, as in ``FaultSchedule``.
        var processes: [ChildProcess?]
        var isHalted = false
        /// The slots that have a process or are starting one.
        var working: Set<Int> = []
        /// The processes that a fault has hit. The coordinator may kill only a stopped one of them.
        var struck: Set<Int32> = []
        /// The processes that were asked to end, maybe before they handled a signal.
        var asked: Set<Int32> = []
    }

    private let state: Mutex<State>

    init(slots: Int) { state = Mutex(State(processes: Array(repeating: nil, count: slots))) }

    var processes: [ChildProcess?] { state.withLock { $0.processes } }
    func process(_ pid: Int32) -> ChildProcess? { processes.first { $0?.pid == pid } ?? nil }
    func wasStruck(_ child: ChildProcess) -> Bool { state.withLock { $0.struck.contains(child.pid) } }
    func wasAsked(_ child: ChildProcess) -> Bool { state.withLock { $0.asked.contains(child.pid) } }

    /// Sends a signal that a fault consists of.
    /// - Returns: whether there was a process.
    func strike(_ child: ChildProcess?, _ number: Int32) -> Bool {
        guard let child else { return false }
        state.withLock { _ = $0.struck.insert(child.pid) }
        return child.signal(number)
    }

    /// - Returns: whether a process of the slot may be started; then ``end(_:)`` must follow.
    func mayStart(_ slot: Int) -> Bool {
        state.withLock { state in
            guard !state.isHalted else { return false }
            state.working.insert(slot)
            return true
        }
    }

    func started(_ child: ChildProcess, in slot: Int) { state.withLock { $0.processes[slot] = child } }

    func end(_ slot: Int) {
        state.withLock { state in
            state.processes[slot] = nil
            state.working.remove(slot)
        }
    }

    /// Ends every process, and starts none until ``resume()``.
    /// - Parameter number: SIGTERM or SIGKILL.
    func halt(by number: Int32) async throws {
        state.withLock { $0.isHalted = true }
        var signalled: Set<Int32> = []
        try await until("the end of every process", within: .seconds(90)) {
            for child in self.processes.compactMap({ $0 }) where signalled.insert(child.pid).inserted {
                self.state.withLock { state in
                    state.struck.insert(child.pid)
                    state.asked.insert(child.pid)
                }
                child.signal(SIGCONT)
                child.signal(number)
            }
            return self.state.withLock { $0.working.isEmpty }
        }
    }

    func resume() { state.withLock { $0.isHalted = false } }
}

/// Lets clients use the store beside each other, and a restore alone.
final class TortureGate: Sendable {
    private let state = Mutex((clients: 0, isClosed: false))

    func pass<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await until("the end of a restore", within: .seconds(240)) {
            self.state.withLock { state in
                guard !state.isClosed else { return false }
                state.clients += 1
                return true
            }
        }
        defer { state.withLock { $0.clients -= 1 } }
        return try await body()
    }

    func alone<Value>(_ body: () async throws -> Value) async throws -> Value {
        state.withLock { $0.isClosed = true }
        defer { state.withLock { $0.isClosed = false } }
        try await until("the end of every client", within: .seconds(90)) { self.state.withLock { $0.clients == 0 } }
        return try await body()
    }
}

extension ChildProcess {
    /// Whether SIGSTOP has stopped the process, or a signal has killed it and its end is not recorded yet.
    var isStopped: Bool {
        // The format is “12 (a name with any characters) T …”.
        let status = String(decoding: contents(of: "/proc/\(pid)/stat") ?? [], as: UTF8.self)
        let state = status.split(separator: ")").last?.split(separator: " ").first ?? "X"
        return ending == nil && ["T", "Z", "X"].contains(state)
    }
}
