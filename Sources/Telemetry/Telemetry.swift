package import Logging
internal import Metrics

/// The measurements of this process.
package struct Telemetry: Sendable {
    package let registry: MetricRegistry
    /// Families of parts that have counts of their own. It must not block.
    package var more: @Sendable () -> [MetricFamily] = { [] }

    /// Makes the registry the backend of swift-metrics. Call it once in a process: a second call traps.
    /// - Parameter logger: gets what cannot be measured.
    package static func bootstrap(logger: Logger) -> Telemetry {
        let registry = MetricRegistry(logger: logger)
        MetricsSystem.bootstrap(TelemetryFactory(registry: registry))
        return Telemetry(registry: registry)
    }

    package init(registry: MetricRegistry) { self.registry = registry }

    /// The measurements so far, and the figures of the process itself. It reads `/proc`.
    package var families: [MetricFamily] { registry.families + ProcessFigures.families + more() }

    /// The families as the bodies of events `metrics/<process>`.
    package var reports: [String] { MetricsReport.encode(families) }
}

/// The backend of swift-metrics: its metrics go into a registry.
///
/// A dot of a label becomes an underscore. A counter gets the suffix `_total`, and a timer `_seconds`. Counts stay
/// when their metric is destroyed.
struct TelemetryFactory: MetricsFactory {
    let registry: MetricRegistry

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        CounterBackend(registry.counter(MetricName.family(label, suffix: "_total"), Self.labels(dimensions)))
    }

    func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        CounterBackend(registry.counter(MetricName.family(label, suffix: "_total"), Self.labels(dimensions)))
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        GaugeBackend(registry.gauge(MetricName.family(label), Self.labels(dimensions)))
    }

    /// - Parameter aggregate: false: a gauge; true: a histogram.
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        let (name, labels) = (MetricName.family(label), Self.labels(dimensions))
        return aggregate
            ? HistogramBackend(registry.histogram(name, labels), unit: 1) : GaugeBackend(registry.gauge(name, labels))
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let name = MetricName.family(label, suffix: "_seconds")
        return HistogramBackend(registry.histogram(name, Self.labels(dimensions)), unit: 1e-9)
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private static func labels(_ dimensions: [(String, String)]) -> [MetricLabel] {
        dimensions.map { MetricLabel($0.0, $0.1) }
    }
}

/// A counter of swift-metrics. It never falls, except by a reset.
final class CounterBackend: CounterHandler, FloatingPointCounterHandler {
    private let series: NumberSeries

    init(_ series: NumberSeries) { self.series = series }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { if amount > 0, amount.isFinite { series.add(amount) } }
    func reset() { series.set(0) }
}

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
