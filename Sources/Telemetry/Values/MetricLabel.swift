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
