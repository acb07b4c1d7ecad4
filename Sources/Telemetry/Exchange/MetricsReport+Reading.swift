package import Commands

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
