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
