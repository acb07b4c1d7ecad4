internal import Metrics

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
