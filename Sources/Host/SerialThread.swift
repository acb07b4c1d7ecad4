internal import Synchronization

/// A thread that runs blocking work, one body after the other.
///
/// A loop is a body that schedules itself with ``perform(at:_:)``, and ``close(then:)`` ends it. The thread keeps this
/// object until it is closed.
package final class SerialThread: BodyPerformer {
    private struct State {
        var bodies = BodyQueue()
        /// The earliest last.
        var timed: [TimedBody] = []
        var isWaiting = false
        var isClosed = false
        var hasEnded = false

        mutating func next() -> Step {
            isWaiting = false
            while let first = timed.last, first.time <= .now { bodies.append(timed.removeLast().body) }
            if let body = bodies.popFirst() { return .run(body) }
            hasEnded = isClosed
            isWaiting = !isClosed
            return isClosed ? .end : .wait(until: timed.last?.time)
        }
    }

    private struct TimedBody: Sendable {
        var time: MonotonicTime
        var body: Body
    }

    private enum Step {
        case run(Body)
        case wait(until: MonotonicTime?)
        case end
    }

    private let name: String
    private let state = Mutex(State())
    private let wake = MonotonicSemaphore(value: 0)

    package init(named name: String) {
        self.name = name
        start()
    }

    /// Runs `body` after those that were handed in before. After ``close(then:)`` it still runs, on another thread once
    /// this one has ended.
    /// - Parameter isUrgent: before those that are not urgent. The one that runs is not interrupted.
    package func perform(isUrgent: Bool = false, _ body: @escaping Body) {
        change { $0.bodies.append(body, isUrgent: isUrgent) }
    }

    /// Runs the urgent bodies that were handed in so far. Call it on the thread, between the steps of a long body.
    package func runUrgent() { while let body = state.withLock({ $0.bodies.popUrgent() }) { body() } }

    /// Runs `body` once, as soon as the thread is free after `time`. ``close(then:)`` drops it before that time, and it
    /// never runs where it is handed in after the close.
    package func perform(at time: MonotonicTime, _ body: @escaping Body) {
        change { state in
            if state.isClosed { return }
            let index = state.timed.firstIndex { $0.time <= time } ?? state.timed.endIndex
            state.timed.insert(TimedBody(time: time, body: body), at: index)
        }
    }

    /// Ends the thread after the bodies that were handed in so far, and returns at once.
    /// - Parameter body: runs behind them, at each close.
    package func close(then body: @escaping Body = {}) {
        let dropped = change { state in
            state.bodies.append(body)
            state.isClosed = true
            defer { state.timed = [] }
            return state.timed
        }
        // Outside of the lock, because the end of an object that a body has may call this one.
        withExtendedLifetime(dropped) {}
    }

    /// As ``close(then:)``; returns when the bodies that were handed in so far have run.
    package func close() async { await withCheckedContinuation { continuation in close { continuation.resume() } } }

    private func change<Value: Sendable>(_ change: (inout State) -> Value) -> Value {
        let (value, wakes, starts) = state.withLock { state in
            let value = change(&state)
            let starts = state.hasEnded && !state.bodies.isEmpty
            if starts { state.hasEnded = false }
            defer { state.isWaiting = false }
            return (value, state.isWaiting, starts)
        }
        if wakes { wake.signal() }
        if starts { start() }
        return value
    }

    private func start() {
        startThread(named: name) { [self] in
            while true {
                switch state.withLock({ $0.next() }) {
                case .run(let body): body()
                case .wait(let time?): _ = wake.wait(until: time)
                case .wait(nil): wake.wait()
                case .end: return
                }
            }
        }
    }
}
