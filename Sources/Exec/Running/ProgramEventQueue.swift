internal import CLinux
internal import Glibc
internal import Synchronization

/// Events between the thread of a guarded program and its one consumer. The thread stops reading outputs
/// while the queue is full, so a slow consumer slows the program down.
final class ProgramEventQueue: Sendable {
    private struct State {
        var events: [ProgramEvent] = []
        /// The index of the next event; those before it are taken.
        var next = 0
        var bytes = 0
        var waiter: CheckedContinuation<ProgramEvent?, Never>?
        var isFinished = false
        var isDiscarded = false
        var isPaused = false

        mutating func take() -> ProgramEvent {
            let event = events[next]
            bytes -= event.size
            next += 1
            if next == events.count || next == 64 {
                events.removeFirst(next)
                next = 0
            }
            return event
        }

        /// Whether a paused thread is to go on.
        mutating func resumes() -> Bool {
            guard isPaused, bytes < ProgramEventQueue.capacity / 2 else { return false }
            isPaused = false
            return true
        }
    }

    /// Output bytes that wait for the consumer before the thread pauses.
    static let capacity = 256 << 10

    private let state = Mutex(State())
    private let wake: ProgramWake

    /// - Parameter wake: wakes the thread when the queue is no longer full.
    init(wake: ProgramWake) { self.wake = wake }

    // MARK: The thread

    func add(_ event: ProgramEvent) {
        let waiter = state.withLock { state -> CheckedContinuation<ProgramEvent?, Never>? in
            if state.isDiscarded { return nil }
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            state.events.append(event)
            state.bytes += event.size
            return nil
        }
        waiter?.resume(returning: event)
    }

    /// No event follows.
    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    /// Whether the thread has to pause. Then the wake follows.
    var isFull: Bool {
        state.withLock { state in
            state.isPaused = state.bytes >= Self.capacity
            return state.isPaused
        }
    }

    // MARK: The consumer

    /// The next event; nil after the last one.
    func next() async -> ProgramEvent? {
        await withCheckedContinuation { (continuation: CheckedContinuation<ProgramEvent?, Never>) in
            let (event, wakes) = state.withLock { state -> (ProgramEvent??, Bool) in
                guard state.next < state.events.count else {
                    if state.isFinished { return (.some(nil), false) }
                    precondition(state.waiter == nil, "the events of a program have one consumer")
                    state.waiter = continuation
                    return (nil, false)
                }
                return (.some(state.take()), state.resumes())
            }
            if wakes { wake.signal() }
            if let event { continuation.resume(returning: event) }
        }
    }

    /// Drops all events, now and later.
    func discard() {
        state.withLock { state in
            state.isDiscarded = true
            state.events = []
            (state.next, state.bytes) = (0, 0)
        }
        wake.signal()
    }
}

/// An event of a guarded program, in the order: `waitingForLock`, `started`, outputs and reports, `ended`.
enum ProgramEvent: Sendable, Equatable {
    enum Stream: Sendable, Equatable {
        case output
        case error
    }

    /// An earlier run is still ending.
    case waitingForLock
    case started(pid: Int32)
    /// Bytes as they came, at most 64 KiB.
    case output(Stream, [UInt8])
    case report(ProgramReport)
    /// The last event.
    case ended(ProgramEnd)
}

extension ProgramEvent {
    fileprivate var size: Int { if case .output(_, let bytes) = self { bytes.count } else { 0 } }
}

/// Wakes the thread of a guarded program from its poll(2): an eventfd(2).
final class ProgramWake: Sendable {
    /// -1 where the process has no descriptor left; the start of the program fails then.
    let descriptor = clinux_event()

    deinit { if descriptor >= 0 { close(descriptor) } }

    func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    func drain() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
