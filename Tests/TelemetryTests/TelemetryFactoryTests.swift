import Metrics
import Testing

@testable import Telemetry

struct TelemetryFactoryTests {
    private let log = RecordedLog()
    private let registry: MetricRegistry
    private let factory: TelemetryFactory

    init() {
        registry = MetricRegistry(logger: log.logger)
        factory = TelemetryFactory(registry: registry)
    }

    private func samples(_ name: String) -> [MetricSample] {
        registry.families.first { $0.name == name }?.samples ?? []
    }

    @Test func `dots become underscores, and a counter gets its suffix`() {
        let counter = Counter(label: "sluice.frames.dropped", dimensions: [("role", "x")], factory: factory)
        counter.increment(by: 3)
        counter.increment()
        #expect(samples("sluice_frames_dropped_total") == [MetricSample(4, [MetricLabel("role", "x")])])
    }

    @Test func `a counter never falls, except by a reset`() {
        let counter = factory.makeCounter(label: "a", dimensions: [])
        counter.increment(by: 5)
        counter.increment(by: -3)
        #expect(samples("a_total") == [MetricSample(5)])
        counter.reset()
        #expect(samples("a_total") == [MetricSample(0)])
        let floating = factory.makeFloatingPointCounter(label: "b", dimensions: [])
        floating.increment(by: 0.5)
        floating.increment(by: -.infinity)
        #expect(samples("b_total") == [MetricSample(0.5)])
    }

    @Test func `nanoseconds of a timer become seconds`() throws {
        let timer = Timer(label: "sluice.commit", factory: factory)
        timer.recordNanoseconds(2_000_000)
        timer.recordSeconds(3)
        guard case .histogram(let value)? = samples("sluice_commit_seconds").first?.value else {
            Issue.record("There is no histogram.")
            return
        }
        #expect(abs(value.sum - 3.002) < 1e-9 && value.count == 2)
        #expect(value.bounds == MetricCatalog.bounds("sluice_commit_seconds"))
    }

    @Test func `a recorder that aggregates is a histogram, and a gauge is not`() {
        Recorder(label: "rows", aggregate: true, factory: factory).record(7)
        let gauge = Gauge(label: "level", factory: factory)
        gauge.record(7)
        gauge.record(2.5)
        let meter = Meter(label: "meter", factory: factory)
        meter.set(3)
        meter.decrement(by: 1.5)
        #expect(registry.families.map(\.kind) == [.gauge, .gauge, .histogram])
        #expect(samples("level") == [MetricSample(2.5)] && samples("meter") == [MetricSample(1.5)])
    }

    @Test func `counts stay when their metric is destroyed and made again`() {
        let first = Counter(label: "a", factory: factory)
        first.increment()
        first.destroy()
        Counter(label: "a", factory: factory).increment()
        #expect(samples("a_total") == [MetricSample(2)])
    }

    @Test func `two kinds under one name are an error, not two families`() {
        Gauge(label: "a.total", factory: factory).record(1)
        Counter(label: "a", factory: factory).increment()
        #expect(registry.families.map(\.name) == ["a_total"] && registry.families[0].kind == .gauge)
        #expect(log.messages == ["The metric a_total is a gauge already, and cannot be a counter too"])
    }
}
