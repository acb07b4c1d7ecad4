internal import Commands

/// The sum of what a link carried over several intervals.
struct LinkWork: Sendable, Equatable {
    private(set) var duration = Duration.zero
    private(set) var completions = 0.0
    private var bytes = 0.0
    private var transferSeconds = 0.0

    /// Bytes of the heads of a request and its answer, which goodput does not count. An estimate.
    static let headBytes = 500.0

    mutating func add(_ interval: LinkInterval) {
        let seconds = interval.duration.seconds
        duration += interval.duration
        bytes += interval.rate * seconds
        completions += Double(interval.completed)
        transferSeconds += Double(interval.maxInFlight) * seconds
    }

    /// Transfers in flight: the mean.
    var transfers: Double { duration > .zero ? transferSeconds / duration.seconds : 0 }
    /// Completions per second of each transfer in flight.
    var completionRate: Double { transferSeconds > 0 ? completions / transferSeconds : 0 }

    /// The measure by which a limit is judged, in bytes per second. See ``WorkMeasure``.
    func throughput(by measure: WorkMeasure) -> Double {
        guard duration > .zero else { return 0 }
        let seconds = duration.seconds
        switch measure {
        case .bytes: return (bytes + Self.headBytes * completions) / seconds
        case .completions: return Self.headBytes * completions / seconds
        }
    }

    /// Whether completions say more than bytes.
    func isOfCompletions(by measure: WorkMeasure) -> Bool {
        measure == .completions || bytes < Self.headBytes * completions || bytes == 0
    }
}

/// The unit in which the throughput of a link is counted.
enum WorkMeasure: Sendable, Equatable {
    /// Bytes that peers acknowledged, and ``LinkWork/headBytes`` for each completion: 0.5 % of files of 100
    /// kB, and all of empty ones, so that the measure is the same for files of every size.
    case bytes
    /// Completions alone.
    case completions
}

/// Chooses the measure of a link: bytes, unless they flow in less than a quarter of the time, as with
/// operations of one's own, empty files and `request`; then completions, until bytes flow in three quarters
/// of the time. Time is weighted with a half-life of 2 s, so that one large file among thousands of empty
/// ones does not change the measure. Pure.
struct MeasureChoice: Sendable {
    private(set) var measure = WorkMeasure.bytes
    private var flow = MovingAverage(halfLife: .seconds(2))
    private var seen = Duration.zero

    /// - Returns: whether it chose another measure, which cannot be compared with what was measured before.
    mutating func add(_ interval: LinkInterval) -> Bool {
        flow.add(interval.rate > 0 ? 1 : 0, for: interval.duration)
        seen += interval.duration
        let share = flow.value ?? 1
        let before = measure
        if share > 0.75 { measure = .bytes } else if share < 0.25, seen >= .seconds(1) { measure = .completions }
        return measure != before
    }
}
