/// What a link did over several ticks.
struct LinkWork: Sendable, Equatable {
    /// Seconds.
    private(set) var duration = 0.0
    private(set) var completions = 0.0
    private var bytes = 0.0
    private var transferSeconds = 0.0

    /// Bytes of a request and of its answer that no goodput counts: their heads. An estimate.
    static let headBytes = 500.0

    mutating func add(_ tick: LinkInterval) {
        duration += tick.duration
        bytes += tick.rate * tick.duration
        completions += Double(tick.completed)
        transferSeconds += Double(tick.maxInFlight) * tick.duration
    }

    /// Transfers in flight, and completions per second of each.
    var transfers: Double { duration > 0 ? transferSeconds / duration : 0 }
    var turns: Double { transferSeconds > 0 ? completions / transferSeconds : 0 }

    /// What a limit is judged by, in bytes per second. See ``WorkMeasure``.
    func throughput(by measure: WorkMeasure) -> Double {
        guard duration > 0 else { return 0 }
        switch measure {
        case .bytes: return (bytes + Self.headBytes * completions) / duration
        case .completions: return Self.headBytes * completions / duration
        }
    }

    /// Completions say more than bytes do.
    func isOfCompletions(by measure: WorkMeasure) -> Bool {
        measure == .completions || bytes < Self.headBytes * completions || bytes == 0
    }
}
