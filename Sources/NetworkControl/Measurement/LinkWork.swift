internal import Commands

/// What a link did over several ticks.
struct LinkWork: Sendable, Equatable {
    private(set) var duration = Duration.zero
    private(set) var completions = 0.0
    private var bytes = 0.0
    private var transferSeconds = 0.0

    /// Bytes of a request and of its answer that no goodput counts: their heads. An estimate.
    static let headBytes = 500.0

    mutating func add(_ tick: LinkInterval) {
        let seconds = tick.duration.seconds
        duration += tick.duration
        bytes += tick.rate * seconds
        completions += Double(tick.completed)
        transferSeconds += Double(tick.maxInFlight) * seconds
    }

    /// Transfers in flight, and completions per second of each.
    var transfers: Double { duration > .zero ? transferSeconds / duration.seconds : 0 }
    var turns: Double { transferSeconds > 0 ? completions / transferSeconds : 0 }

    /// What a limit is judged by, in bytes per second. See ``WorkMeasure``.
    func throughput(by measure: WorkMeasure) -> Double {
        guard duration > .zero else { return 0 }
        let seconds = duration.seconds
        switch measure {
        case .bytes: return (bytes + Self.headBytes * completions) / seconds
        case .completions: return Self.headBytes * completions / seconds
        }
    }

    /// Completions say more than bytes do.
    func isOfCompletions(by measure: WorkMeasure) -> Bool {
        measure == .completions || bytes < Self.headBytes * completions || bytes == 0
    }
}
