internal import Commands

/// A mean over time.
struct TimeWeightedMean: Sendable {
    private(set) var duration = Duration.zero
    private var sum = 0.0

    var mean: Double { duration > .zero ? sum / duration.seconds : 0 }

    mutating func add(_ value: Double, for duration: Duration) {
        sum += value * duration.seconds
        self.duration += duration
    }
}
