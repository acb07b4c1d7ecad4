internal import Host
internal import ZeroMQ

/// An actor on a ``PollLoop`` that runs the callbacks of its parts.
protocol LoopCallbackOwner: Actor {
    var callbacks: LoopCallbacks { get }
}

/// Lets other threads call back onto the loop.
///
/// The bodies may capture objects that are confined to the loop, because they never leave it: the other
/// thread holds only a number. No lock and no unchecked `Sendable` is needed.
final class LoopCallbacks {
    let loop: PollLoop
    /// The actor that this object belongs to. Set it before the first callback is made.
    weak var owner: (any LoopCallbackOwner)?
    private var bodies: [Int: (any Sendable) -> Void] = [:]
    private var lastNumber = 0

    init(loop: PollLoop) { self.loop = loop }

    /// Makes a function that another thread calls once. It keeps the owner alive until then.
    /// - Parameter body: runs on the loop with the value that the thread passed.
    func once<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        let number = lastNumber + 1
        return add { [unowned self] value in
            bodies[number] = nil
            body(value)
        }
    }

    /// Makes a function that another thread calls any number of times before it calls one made by
    /// ``once(_:)``.
    /// - Returns: that function, and a second one that drops the body.
    func repeatedly<Value: Sendable>(
        _ body: @escaping (Value) -> Void
    ) -> (call: @Sendable (Value) -> Void, end: () -> Void) {
        let number = lastNumber + 1
        return (add(body), { [unowned self] in bodies[number] = nil })
    }

    /// Runs a body in a later round of the loop.
    func later(_ body: @escaping () -> Void) {
        once { (_: Bool) in body() }(true)
    }

    /// Called by the owner, on the loop.
    func run(_ number: Int, with value: any Sendable) { bodies[number]?(value) }

    private func add<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        lastNumber += 1
        bodies[lastNumber] = { value in
            guard let value = value as? Value else { return }
            body(value)
        }
        return { [loop, owner, lastNumber] value in
            loop.perform { owner?.assumeIsolated { $0.callbacks.run(lastNumber, with: value) } }
        }
    }
}

/// When a periodic part of the coordinator is due. Pure.
struct PeriodicTimer: Sendable {
    private(set) var next = MonotonicTime.zero

    /// True at most once in each interval.
    mutating func isDue(_ now: MonotonicTime, every interval: Duration) -> Bool {
        guard now >= next else { return false }
        next = now + interval
        return true
    }

    /// True once at `phase` after each multiple of the interval on the monotonic clock.
    mutating func isDue(_ now: MonotonicTime, every interval: Duration, phase: Duration) -> Bool {
        guard now >= next else { return false }
        let intervals = ((now - phase).nanoseconds + interval.nanoseconds) / interval.nanoseconds
        next = MonotonicTime(nanoseconds: intervals * interval.nanoseconds) + phase
        return true
    }

    mutating func fireNow() { next = .zero }
}

/// The time during which the coordinator itself was awake. A worker is not blamed for the time that the
/// machine slept or the coordinator was stopped. Pure.
struct AwakeTime: Sendable {
    private var last: MonotonicTime?
    private var elapsed = Duration.zero

    /// A longer pause between two ticks counts as this much.
    static let maxStep: Duration = .milliseconds(500)

    mutating func tick(now: MonotonicTime) {
        if let last { elapsed += min(now - last, Self.maxStep) }
        last = now
    }

    /// The waking time since the last call.
    mutating func take() -> Duration {
        defer { elapsed = .zero }
        return elapsed
    }
}
