import Logging
import Synchronization
import Testing

@testable import Telemetry

struct MetricRegistryTests {
    private let log = RecordedLog()
    private var registry: MetricRegistry { MetricRegistry(logger: log.logger) }

    @Test func `the same name and labels give the same series, in whichever order the labels come`() {
        let registry = registry
        registry.counter("a_total", [MetricLabel("x", "1"), MetricLabel("y", "2")]).add(1)
        registry.counter("a_total", [MetricLabel("y", "2"), MetricLabel("x", "1")]).add(2)
        let labels = [MetricLabel("x", "1"), MetricLabel("y", "2")]
        #expect(registry.families == [MetricFamily("a_total", .counter, [MetricSample(3, labels)])])
    }

    @Test func `a name keeps its first kind, and a second kind is logged once and shown nowhere`() {
        let registry = registry
        registry.counter("a").add(1)
        registry.gauge("a").set(7)
        registry.histogram("a").observe(7)
        #expect(registry.families == [MetricFamily("a", .counter, value: 1)])
        #expect(log.messages == ["The metric a is a counter already, and cannot be a gauge too"])
    }

    @Test func `a name has at most 1,000 series, and the others are logged once`() {
        let registry = registry
        for number in 0..<1005 { registry.counter("a_total", [MetricLabel("n", "\(number)")]).add(1) }
        #expect(registry.families.first?.samples.count == MetricRegistry.maxSeries)
        #expect(log.messages.count == 1 && log.messages[0].contains("1000 combinations"))
        // A known one goes on.
        registry.counter("a_total", [MetricLabel("n", "0")]).add(1)
        #expect(registry.families.first?.samples.contains(MetricSample(2, [MetricLabel("n", "0")])) == true)
    }

    @Test func `an observation counts in the first bucket whose bound it does not exceed`() {
        let series = HistogramSeries(bounds: [1, 5])
        for value in [0, 1, 1.5, 5, 6, .infinity, .nan] { series.observe(value) }
        #expect(series.value == HistogramValue(bounds: [1, 5], counts: [2, 2, 1], sum: 13.5))
        #expect(series.value.count == 5)
    }

    @Test func `threads that add at the same time lose nothing`() async {
        let number = NumberSeries()
        let histogram = HistogramSeries(bounds: [1])
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<10_000 {
                        number.add(1)
                        histogram.observe(2)
                    }
                }
            }
        }
        #expect(number.value == 40_000)
        #expect(histogram.value == HistogramValue(bounds: [1], counts: [0, 40_000], sum: 80_000))
    }

    @Test func `names and labels become valid, and values are bounded`() {
        #expect(MetricName.family("a.b-c d") == "a_b_c_d")
        #expect(MetricName.family("1a") == "_1a" && MetricName.family("") == "_")
        #expect(MetricName.family("a_total", suffix: "_total") == "a_total")
        let labels = [
            MetricLabel("le", "1"), MetricLabel("a.b", "x\ny"), MetricLabel("a.b", "2"),
            MetricLabel("long", String(repeating: "ü", count: 500)),
        ].normalized
        #expect(labels.map(\.name) == ["a_b", "le_", "long"])
        #expect(labels[0].value == "x y" && labels[2].value.count == MetricName.maxLength)
    }
}

/// Keeps logged messages.
final class RecordedLog: Sendable {
    private let lines = Mutex<[String]>([])

    var messages: [String] { lines.withLock { $0 } }
    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { log.lines.withLock { $0.append("\(event.message)") } }
    }
}
