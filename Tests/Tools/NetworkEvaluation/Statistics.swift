import Foundation

extension Array where Element == Double {
    /// The quantile by linear interpolation; nil for an empty array.
    func quantile(_ share: Double) -> Double? {
        guard !isEmpty else { return nil }
        let sorted = sorted()
        let position = share * Double(count - 1)
        let below = sorted[Int(position)]
        let above = sorted[Swift.min(count - 1, Int(position) + 1)]
        return below + (above - below) * (position - position.rounded(.down))
    }

    var median: Double? { quantile(0.5) }
    var mean: Double? { isEmpty ? nil : reduce(0, +) / Double(count) }
}

extension Double {
    /// The number with about three digits.
    var short: String {
        if self == rounded(), abs(self) < 1e6 { return String(Int(self)) }
        return String(
            format: abs(self) >= 100 ? "%.0f" : abs(self) >= 10 ? "%.1f" : abs(self) >= 0.1 ? "%.2f" : "%.3f", self)
    }
}

/// The slope of the regression line through points (least squares).
func slope(_ points: [(x: Double, y: Double)]) -> Double? {
    guard let x = points.map(\.x).mean, let y = points.map(\.y).mean, points.count > 1 else { return nil }
    let spread = points.reduce(0) { $0 + ($1.x - x) * ($1.x - x) }
    return spread == 0 ? nil : points.reduce(0) { $0 + ($1.x - x) * ($1.y - y) } / spread
}
