/// Writes families in the text format of Prometheus, version 0.0.4: each name once, whichever sources it comes from.
package struct MetricsText: Sendable {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private struct Entry: Sendable {
        var kind: MetricKind
        var samples: [[MetricLabel]: MetricSample.Value] = [:]
    }

    private var families: [String: Entry] = [:]

    package init() {}

    /// Adds families. One whose name has another kind already is left out, as is a sample whose labels are there.
    /// - Parameter label: added to each sample; nil adds none.
    package mutating func add(_ families: some Sequence<MetricFamily>, label: MetricLabel? = nil) {
        for family in families where !family.samples.isEmpty {
            var entry = self.families.removeValue(forKey: family.name) ?? Entry(kind: family.kind)
            if entry.kind == family.kind {
                for sample in family.samples {
                    let labels = ((label.map { [$0] } ?? []) + sample.labels).normalized
                    if entry.samples[labels] == nil { entry.samples[labels] = sample.value }
                }
            }
            self.families[family.name] = entry
        }
    }

    /// The text, in the order of names and labels. It ends with a newline. A family with the name of a series of a
    /// histogram is left out: the series would have two types.
    package var bytes: [UInt8] {
        var writer = Writer()
        let parts = Set(
            families.filter { $0.value.kind == .histogram }.keys.flatMap { name in
                ["_bucket", "_sum", "_count"].map { name + $0 }
            })
        for (name, entry) in families.sorted(by: { $0.key < $1.key }) where !parts.contains(name) {
            writer.head(name, entry.kind)
            let samples = entry.samples.map { (text: Writer.labels($0.key), value: $0.value) }
            for sample in samples.sorted(by: { $0.text < $1.text }) { writer.sample(name, sample.text, sample.value) }
        }
        return writer.bytes
    }
}

extension MetricsText {
    private struct Writer {
        var bytes: [UInt8] = []

        mutating func head(_ name: String, _ kind: MetricKind) {
            let help = MetricCatalog.help(name)
            append("# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n")
        }

        /// - Parameter labels: without braces; empty for none.
        mutating func sample(_ name: String, _ labels: String, _ value: MetricSample.Value) {
            switch value {
            case .number(let number): line(name, labels, number)
            case .histogram(let histogram):
                let prefix = labels.isEmpty ? "" : labels + ","
                var count = 0
                for (index, bucket) in histogram.counts.enumerated() {
                    count &+= bucket
                    let bound = index < histogram.bounds.count ? histogram.bounds[index] : .infinity
                    line("\(name)_bucket", "\(prefix)le=\"\(Self.text(bound))\"", Double(count))
                }
                line("\(name)_sum", labels, histogram.sum)
                line("\(name)_count", labels, Double(count))
            }
        }

        private mutating func line(_ name: String, _ labels: String, _ value: Double) {
            append(labels.isEmpty ? "\(name) \(Self.text(value))\n" : "\(name){\(labels)} \(Self.text(value))\n")
        }

        private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

        static func labels(_ labels: [MetricLabel]) -> String {
            labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",")
        }

        private static func escaped(_ text: String, quotes: Bool) -> String {
            guard text.utf8.contains(where: { $0 == 0x0A || $0 == 0x22 || $0 == 0x5C }) else { return text }
            var result = ""
            for character in text.unicodeScalars {
                switch character {
                case "\\": result += "\\\\"
                case "\n": result += "\\n"
                case "\"" where quotes: result += "\\\""
                default: result.unicodeScalars.append(character)
                }
            }
            return result
        }

        private static func text(_ value: Double) -> String {
            if value.isNaN { return "NaN" }
            if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
            // Exact up to 2⁵³.
            if value.rounded() == value, value.magnitude < 9_007_199_254_740_992 { return "\(Int64(value))" }
            return "\(value)"
        }
    }
}
