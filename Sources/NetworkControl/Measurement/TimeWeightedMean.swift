/// A mean over time.
struct TimeWeightedMean: Sendable {
    private(set) var duration = 0.0
    private var sum = 0.0

    var mean: Double { duration > 0 ? sum / duration : 0 }

    mutating func add(_ value: Double, _ duration: Double) {
        sum += value * duration
        self.duration += duration
    }
}
