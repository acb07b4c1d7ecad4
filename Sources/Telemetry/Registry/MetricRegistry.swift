package import Logging
internal import Synchronization

/// The measurements of a process, by name and labels.
///
/// A look-up takes a lock; changes of the series that it returns do not.
package final class MetricRegistry: Sendable {
    private enum Series: Sendable {
        case number(NumberSeries)
        case histogram(HistogramSeries)
    }

    private struct Family: Sendable {
        var kind: MetricKind
        var series: [[MetricLabel]: Series] = [:]
    }

    private struct State {
        var families: [String: Family] = [:]
        /// Problems that were logged: once for each name is enough.
        var logged: Set<String> = []
    }

    /// Combinations of labels of one name. Those beyond are measured and not shown.
    package static let maxSeries = 1000

    private let state = Mutex(State())
    private let logger: Logger

    package init(logger: Logger) { self.logger = logger }

    /// - Parameter name: as the text format has it, see ``MetricName/family(_:suffix:)``.
    package func counter(_ name: String, _ labels: [MetricLabel] = []) -> NumberSeries {
        number(name, .counter, labels)
    }

    /// - Parameter name: as in ``counter(_:_:)``.
    package func gauge(_ name: String, _ labels: [MetricLabel] = []) -> NumberSeries { number(name, .gauge, labels) }

    /// A histogram with the buckets that ``MetricCatalog`` has for the name.
    /// - Parameter name: as in ``counter(_:_:)``.
    package func histogram(_ name: String, _ labels: [MetricLabel] = []) -> HistogramSeries {
        let found = series(name, .histogram, labels) { .histogram(HistogramSeries(bounds: MetricCatalog.bounds(name))) }
        guard case .histogram(let series)? = found else { return HistogramSeries(bounds: []) }
        return series
    }

    /// All families with their present values, in the order of their names.
    package var families: [MetricFamily] {
        state.withLock { $0.families }.sorted { $0.key < $1.key }.map { name, family in
            let samples = family.series.map { labels, series in
                switch series {
                case .number(let series): MetricSample(series.value, labels)
                case .histogram(let series): MetricSample(series.value, labels)
                }
            }
            return MetricFamily(name, family.kind, samples)
        }
    }

    private func number(_ name: String, _ kind: MetricKind, _ labels: [MetricLabel]) -> NumberSeries {
        guard case .number(let series)? = series(name, kind, labels, { .number(NumberSeries()) }) else {
            return NumberSeries()
        }
        return series
    }

    /// - Returns: nil where the name has another kind, or too many series: the measurement is then shown nowhere.
    private func series(
        _ name: String, _ kind: MetricKind, _ labels: [MetricLabel], _ make: () -> Series
    ) -> Series? {
        let labels = labels.normalized
        let (series, problem) = state.withLock { state -> (Series?, String?) in
            var problem: String?
            let family = state.families[name] ?? Family(kind: kind)
            if family.kind != kind {
                problem =
                    "The metric \(name) is a \(family.kind.rawValue) already, and cannot be a \(kind.rawValue) too"
            } else if let known = family.series[labels] {
                return (known, nil)
            } else if family.series.count >= Self.maxSeries {
                problem = "The metric \(name) has \(Self.maxSeries) combinations of labels; others are not shown"
            }
            if let problem { return (nil, state.logged.insert(name).inserted ? problem : nil) }
            let made = make()
            state.families[name, default: Family(kind: kind)].series[labels] = made
            return (made, nil)
        }
        if let problem { logger.error("\(problem)") }
        return series
    }
}
