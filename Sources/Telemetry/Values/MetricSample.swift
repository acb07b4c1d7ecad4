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
