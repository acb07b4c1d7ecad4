internal import Metrics

/// A counter of swift-metrics. It never falls, except by a reset.
final class CounterBackend: CounterHandler, FloatingPointCounterHandler {
    private let series: NumberSeries

    init(_ series: NumberSeries) { self.series = series }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { if amount > 0, amount.isFinite { series.add(amount) } }
    func reset() { series.set(0) }
}
