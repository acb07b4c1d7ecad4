package import Commands
internal import Host

/// A part of the measurements of a process: the body of one event `metrics/<process>`.
///
/// All parts of a report have one round, and each has whole samples. PROTOCOL.md has the members.
package struct MetricsReport: Sendable, Equatable {
    /// Greater than that of every earlier report of the process.
    package var round: Int64
    /// From 0.
    package var part: Int
    package var parts: Int
    package var families: [MetricFamily]

    /// Bytes of a body, at most; events of executions have the same limit.
    static let maxBody = 16 << 10
    /// Parts of a report. Samples that would need more are left out.
    static let maxParts = 64
    /// Bytes of a body beside its samples, and of the head of a family.
    private static let envelope = 128

    /// Writes a report.
    /// - Parameter round: nil: by the clock.
    /// - Returns: the bodies of its events.
    package static func encode(_ families: [MetricFamily], round: Int64? = nil) -> [String] {
        let round = round ?? MonotonicTime.now.nanoseconds / 1_000_000
        var parts: [String] = []
        var part = ""
        for family in families {
            // Whether the present part has begun this family.
            var isOpen = false
            let head = Self.head(family)
            for sample in family.samples {
                let text = Self.text(sample)
                guard head.utf8.count + text.utf8.count + envelope <= maxBody else { continue }
                if part.utf8.count + head.utf8.count + text.utf8.count + envelope > maxBody {
                    if isOpen { part += "]}" }
                    parts.append(part)
                    (part, isOpen) = ("", false)
                }
                part += isOpen ? "," : (part.isEmpty ? "" : ",") + head
                part += text
                isOpen = true
            }
            if isOpen { part += "]}" }
        }
        if !part.isEmpty || parts.isEmpty { parts.append(part) }
        parts = Array(parts.prefix(maxParts))
        return parts.enumerated().map { index, part in
            #"{"round":\#(round),"part":\#(index),"parts":\#(parts.count),"families":[\#(part)]}"#
        }
    }

    private static func head(_ family: MetricFamily) -> String {
        let bounds: JSONValue? = family.samples.lazy.compactMap { sample in
            guard case .histogram(let histogram) = sample.value else { return nil }
            return JSONValue.array(histogram.bounds.map { number($0) })
        }.first
        let name = JSONValue.string(family.name).text
        let limits = bounds.map { #""bounds":\#($0.text),"# } ?? ""
        return #"{"name":\#(name),"kind":"\#(family.kind.rawValue)",\#(limits)"samples":["#
    }

    private static func text(_ sample: MetricSample) -> String {
        let labels = JSONValue.object(sample.labels.map { .init($0.name, .string($0.value)) })
        switch sample.value {
        case .number(let value): return JSONValue.object([.init("labels", labels), .init("value", number(value))]).text
        case .histogram(let histogram):
            let counts = JSONValue.array(histogram.counts.map { .integer(Int64($0)) })
            return JSONValue.object([
                .init("labels", labels), .init("sum", number(histogram.sum)), .init("counts", counts),
            ]).text
        }
    }

    /// Whole numbers without a fraction: they are shorter.
    private static func number(_ value: Double) -> JSONValue {
        value.rounded() == value && value.magnitude < 9e15 ? .integer(Int64(value)) : .number(value)
    }
}

extension MetricsReport {
    /// Samples of one part; a body of 16 KiB has fewer.
    private static let maxSamples = 2000
    private static let maxLabels = 16
    private static let maxBounds = 64

    /// Reads the body of an event. Families and samples that are not valid are left out.
    /// - Returns: nil for another body.
    package init?(_ body: JSONValue) {
        guard let round = body["round"]?.integer, let part = body["part"]?.integer, let parts = body["parts"]?.integer,
            (1...Int64(Self.maxParts)).contains(parts), (0..<parts).contains(part),
            let elements = body["families"]?.elements
        else { return nil }
        var room = Self.maxSamples
        let families = elements.compactMap { Self.family($0, &room) }
        self.init(round: round, part: Int(part), parts: Int(parts), families: families)
    }

    private static func family(_ value: JSONValue, _ room: inout Int) -> MetricFamily? {
        guard let name = value["name"]?.string, MetricName.isValid(name),
            let kind = value["kind"]?.string.flatMap({ MetricKind(rawValue: $0) })
        else { return nil }
        let bounds = (value["bounds"]?.elements ?? []).prefix(maxBounds).compactMap(\.double)
        let isAscending = zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }
        guard kind != .histogram || isAscending else { return nil }
        let samples = (value["samples"]?.elements ?? []).prefix(room).compactMap { sample(of: kind, $0, bounds) }
        room -= samples.count
        return MetricFamily(name, kind, samples)
    }

    private static func sample(of kind: MetricKind, _ value: JSONValue, _ bounds: [Double]) -> MetricSample? {
        let labels = (value["labels"]?.members ?? []).prefix(maxLabels).compactMap { member in
            member.value.string.map { MetricLabel(member.name, $0) }
        }
        guard kind == .histogram else { return value["value"]?.double.map { MetricSample($0, labels) } }
        let counts = (value["counts"]?.elements ?? []).compactMap(\.integer)
        guard let sum = value["sum"]?.double, counts.count == bounds.count + 1, counts.allSatisfy({ $0 >= 0 }) else {
            return nil
        }
        return MetricSample(HistogramValue(bounds: bounds, counts: counts.map { Int($0) }, sum: sum), labels)
    }
}
