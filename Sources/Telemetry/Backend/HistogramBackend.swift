internal import Metrics

/// A recorder of swift-metrics that aggregates, or a timer.
final class HistogramBackend: RecorderHandler, TimerHandler {
    private let series: HistogramSeries
    /// The unit of recorded values in the unit of the family: 1e-9 for nanoseconds in a family of seconds.
    private let unit: Double

    init(_ series: HistogramSeries, unit: Double) {
        self.series = series
        self.unit = unit
    }

    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) { series.observe(value * unit) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration)) }
}
