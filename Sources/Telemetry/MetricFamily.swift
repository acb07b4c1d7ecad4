/// The samples of one name at one moment.
package struct MetricFamily: Sendable, Equatable {
    /// As in the text format, with the suffix of its unit: `sluice_commit_seconds`.
    package var name: String
    package var kind: MetricKind
    package var samples: [MetricSample]

    package init(_ name: String, _ kind: MetricKind, _ samples: [MetricSample] = []) {
        self.name = name
        self.kind = kind
        self.samples = samples
    }

    /// A family with one sample, which has no labels.
    package init(_ name: String, _ kind: MetricKind, value: Double) {
        self.init(name, kind, [MetricSample(value)])
    }

    /// Adds a number.
    package mutating func add(_ value: Double, _ labels: [MetricLabel]) {
        samples.append(MetricSample(value, labels))
    }
}

/// The kind of a family of metrics, in the words of Prometheus.
package enum MetricKind: String, Sendable {
    case counter, gauge, histogram
}

/// The value of one combination of labels at one moment.
package struct MetricSample: Sendable, Equatable {
    package enum Value: Sendable, Equatable {
        case number(Double)
        case histogram(HistogramValue)
    }

    package var labels: [MetricLabel]
    package var value: Value

    package init(_ value: Double, _ labels: [MetricLabel] = []) {
        self.labels = labels
        self.value = .number(value)
    }

    package init(_ value: HistogramValue, _ labels: [MetricLabel] = []) {
        self.labels = labels
        self.value = .histogram(value)
    }
}

/// The observations of a histogram so far.
package struct HistogramValue: Sendable, Equatable {
    /// The upper bounds of the buckets, ascending. The last bucket has none.
    package var bounds: [Double]
    /// Observations in each bucket alone, one more than there are bounds.
    package var counts: [Int]
    package var sum: Double

    /// - Parameter counts: one more than there are bounds.
    package init(bounds: [Double], counts: [Int], sum: Double) {
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }

    package var count: Int { counts.reduce(0, &+) }
}

/// A label of a sample: a name and a value.
package struct MetricLabel: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension [MetricLabel] {
    /// In the order of their names, with valid names and bounded values. Of two with one name the first counts.
    var normalized: [MetricLabel] {
        var names: Set<String> = []
        return compactMap { label in
            let name = MetricName.label(label.name)
            guard names.insert(name).inserted else { return nil }
            return MetricLabel(name, MetricName.value(label.value))
        }.sorted { $0.name < $1.name }
    }
}
