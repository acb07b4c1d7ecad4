internal import Metrics

/// A meter of swift-metrics, or a recorder that does not aggregate: the last value counts.
final class GaugeBackend: MeterHandler, RecorderHandler {
    private let series: NumberSeries

    init(_ series: NumberSeries) { self.series = series }

    func set(_ value: Int64) { series.set(Double(value)) }
    func set(_ value: Double) { series.set(value) }
    func increment(by amount: Double) { series.add(amount) }
    func decrement(by amount: Double) { series.add(-amount) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
}
