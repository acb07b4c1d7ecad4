internal import Commands
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
