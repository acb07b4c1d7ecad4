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
