internal import Host

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
