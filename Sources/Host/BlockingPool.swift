internal import Synchronization

/// A bounded number of threads for calls that block: a name look-up, a file system, a store.
///
/// A thread starts when a body needs one and no other is idle, and ends when it was idle for a time. While the user or
/// the system has too many threads, for instance because of a program that forks, bodies wait for one.
package final class BlockingPool: BodyPerformer {
    /// For calls of the process that block for milliseconds, or for seconds where something is out of order. A body must
    /// not wait for another one of this pool.
    package static let shared = BlockingPool(named: "sluice-blocking", maxThreads: 256)

    private struct State {
        var bodies = BodyQueue()
        /// Threads that run, and those that start.
        var threads = 0
        /// One for each thread that waits. The last one continues first, so that those beyond the need end.
        var idle: [MonotonicSemaphore] = []
        var isClosed = false

        /// - Parameter wake: of the thread.
        mutating func next(_ wake: MonotonicSemaphore) -> Step {
            if let body = bodies.popFirst() { return .run(body) }
            if isClosed {
                threads -= 1
                return .end
            }
            idle.append(wake)
            return .wait
        }

        /// - Returns: false where a body has come since the thread became idle.
        mutating func endIdle(_ wake: MonotonicSemaphore) -> Bool {
            guard let index = idle.firstIndex(where: { $0 === wake }) else { return false }
            idle.remove(at: index)
            threads -= 1
            return true
        }
    }

    private enum Step {
        case run(Body)
        case wait, end
    }

    private let name: String
    private let maxThreads: Int
    private let idleTimeout: Duration?
    private let state = Mutex(State())

    /// From a failed start of a thread to the next attempt.
    private static let retryDelay: Duration = .milliseconds(100)

    /// - Parameters:
    ///   - maxThreads: bodies that run at once; the others wait, and begin in the order of their calls.
    ///   - idleTimeout: after which a thread without a body ends; nil: it stays until ``close()``.
    package init(named name: String, maxThreads: Int, idleTimeout: Duration? = .seconds(10)) {
        self.name = name
        self.maxThreads = maxThreads
        self.idleTimeout = idleTimeout
    }

    /// Runs `body` on a thread of the pool.
    /// - Parameter isUrgent: it begins before the bodies that are not urgent.
    package func perform(isUrgent: Bool = false, _ body: @escaping Body) {
        let (wake, starts) = state.withLock { state -> (MonotonicSemaphore?, Bool) in
            state.bodies.append(body, isUrgent: isUrgent)
            if let wake = state.idle.popLast() { return (wake, false) }
            guard state.threads < maxThreads else { return (nil, false) }
            state.threads += 1
            return (nil, true)
        }
        wake?.signal()
        if starts { start() }
    }

    /// Ends the threads after the bodies that were handed in so far, and returns at once. Bodies that come later still
    /// run.
    package func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for wake in idle { wake.signal() }
    }

    private func start() {
        guard newThread(named: name, { [self] in run() }) != 0 else { return }
        Task {
            try? await Task.sleep(for: Self.retryDelay)
            let isNeeded = state.withLock { state in
                if state.bodies.isEmpty { state.threads -= 1 }
                return !state.bodies.isEmpty
            }
            if isNeeded { start() }
        }
    }

    private func run() {
        let wake = MonotonicSemaphore(value: 0)
        while true {
            switch state.withLock({ $0.next(wake) }) {
            case .run(let body): body()
            case .wait:
                if wake.wait(until: idleTimeout.map { .now + $0 } ?? .distantFuture) { continue }
                if state.withLock({ $0.endIdle(wake) }) { return }
                wake.wait()
            case .end: return
            }
        }
    }
}
