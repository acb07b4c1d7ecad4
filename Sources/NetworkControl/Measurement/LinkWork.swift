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
