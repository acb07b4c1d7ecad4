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

/// What the throughput of a link is counted in.
enum WorkMeasure: Sendable, Equatable {
    /// Bytes that peers acknowledged, and ``LinkWork/headBytes`` for each completion: 0.5 % of files of 100
    /// kB, and all of empty ones, so that the measure is the same for files of every size.
    case bytes
    /// Completions alone.
    case completions
}

/// Chooses the measure of a link: bytes, unless they flow in less than a quarter of the time, as beside own
/// operations, empty files and `request`; and then completions, until bytes flow in three quarters of it.
/// Time is weighted with a half-life of 2 s, so that one large file among thousands of empty ones does not
/// change the measure. Pure.
struct MeasureChoice: Sendable {
    private(set) var measure = WorkMeasure.bytes
    private var flow = MovingAverage(halfLife: 2)
    /// Seconds of ticks.
    private var seen = 0.0

    /// - Returns: whether it chose another one: what was measured before cannot be compared.
    mutating func add(_ tick: LinkInterval) -> Bool {
        flow.add(tick.rate > 0 ? 1 : 0, duration: tick.duration)
        seen += tick.duration
        let share = flow.value ?? 1
        let before = measure
        if share > 0.75 { measure = .bytes } else if share < 0.25, seen >= 1 { measure = .completions }
        return measure != before
    }
}
