internal import CLinux
internal import Glibc
internal import Host
internal import Synchronization

/// A program that runs under a guardian (Guardian.h), and the stream of its events.
///
/// A thread of its own starts the guardian, reads the outputs and writes the input. When the last reference
/// goes away, the program is killed. When this process dies, however that happens, the guardian ends the
/// program and frees its lock.
final class GuardedProcess: Sendable {
    private let events: ProgramEventQueue
    private let stop = ProgramStop()
    private let wake = ProgramWake()

    /// Starts the program. A failure to do so is the event `ended` with the outcome `notStarted`.
    init(_ program: GuardedProgram, launcher: GuardianLauncher = .shared) {
        events = ProgramEventQueue(wake: wake)
        let loop = ProgramLoop(program, launcher: launcher, events: events, stop: stop, wake: wake)
        let context = Unmanaged.passRetained(loop).toOpaque()
        let code = clinux_start_thread(
            "sluice-exec",
            { context in
                guard let context else { return }
                Unmanaged<ProgramLoop>.fromOpaque(context).takeRetainedValue().run()
            }, context)
        if code != 0 {
            Unmanaged<ProgramLoop>.fromOpaque(context).release()
            let failure = ProgramStartFailure(.prepare, code)
            events.add(.ended(ProgramEnd(outcome: .notStarted(failure))))
            events.finish()
        }
    }

    deinit {
        stop.order(.cancelled, grace: .zero)
        events.discard()
    }

    /// The next event; nil after `ended`. One task at a time may call it. It does not end early when that
    /// task is cancelled: call ``cancel(grace:)``, and await `ended`.
    func next() async -> ProgramEvent? { await events.next() }

    /// Ends the program and all that it started: TERM, the grace, KILL. The event `ended` follows.
    /// - Parameter grace: zero kills at once. A second call can shorten it.
    func cancel(grace: Duration) {
        stop.order(.cancelled, grace: grace)
        wake.signal()
    }
}

/// The orders of the owner of a guarded program, until its thread carries them out. A later order can only
/// shorten the grace.
final class ProgramStop: Sendable {
    struct Order: Sendable, Equatable {
        var cause: ProgramEnd.Stop
        /// Zero: KILL at once.
        var grace: Duration
    }

    private struct State {
        var pending: Order?
        /// The first cause counts.
        var cause: ProgramEnd.Stop?
    }

    private let state = Mutex(State())

    func order(_ cause: ProgramEnd.Stop, grace: Duration) {
        state.withLock { state in
            let first = state.cause ?? cause
            state.cause = first
            state.pending = Order(cause: first, grace: min(grace, state.pending?.grace ?? grace))
        }
    }

    /// The order that has not been carried out.
    func take() -> Order? {
        state.withLock { state in
            defer { state.pending = nil }
            return state.pending
        }
    }

    var cause: ProgramEnd.Stop? { state.withLock { $0.cause } }
}
