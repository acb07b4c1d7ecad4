internal import Commands

/// An exponential average weighted by time. It divides by the weight that it has seen, as shaka-player's
/// `Ewma` does, so that an average younger than its half-life is not drawn towards zero.
struct MovingAverage: Sendable {
    /// In seconds.
    private let halfLife: Double
    private var sum = 0.0
    private var weight = 0.0

    init(halfLife: Duration) { self.halfLife = halfLife.seconds }

    var value: Double? { weight > 0 ? sum / weight : nil }

    mutating func add(_ value: Double, for duration: Duration) {
        let remaining = power(-duration.seconds / halfLife)
        sum = sum * remaining + value * (1 - remaining)
        weight = weight * remaining + (1 - remaining)
    }

    mutating func reset(to value: Double) {
        sum = value
        weight = 1
    }

    /// 2 to the given power, without Foundation: a square per halving and four terms of the series.
    private func power(_ exponent: Double) -> Double {
        guard exponent > -32 else { return 0 }
        var x = exponent * 0.693_147_180_559_945_3 / 64
        x = 1 + x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4)))
        for _ in 0..<6 { x *= x }
        return x
    }
}

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
