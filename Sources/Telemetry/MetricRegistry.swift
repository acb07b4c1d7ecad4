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

/// A number that any thread changes without a lock: a counter or a gauge.
package final class NumberSeries: Sendable {
    private let bits = Atomic<UInt64>(0)

    package init() {}

    package var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    package func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    package func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (isDone, present) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if isDone { return }
            old = present
        }
    }
}

/// A histogram that any thread adds to without a lock.
package final class HistogramSeries: Sendable {
    package let bounds: [Double]
    /// One for each bucket; the last has no bound.
    nonisolated(unsafe) private let counts: UnsafeMutablePointer<Atomic<Int>>
    private let sum = NumberSeries()

    /// - Parameter bounds: the upper bounds of the buckets, ascending.
    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = .allocate(capacity: bounds.count + 1)
        for index in 0...bounds.count { (counts + index).initialize(to: Atomic(0)) }
    }

    deinit {
        counts.deinitialize(count: bounds.count + 1)
        counts.deallocate()
    }

    /// Adds an observation. One that is not finite is left out.
    package func observe(_ value: Double) {
        guard value.isFinite else { return }
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count].add(1, ordering: .relaxed)
        sum.add(value)
    }

    package var value: HistogramValue {
        let counts = (0...bounds.count).map { self.counts[$0].load(ordering: .relaxed) }
        return HistogramValue(bounds: bounds, counts: counts, sum: sum.value)
    }
}
