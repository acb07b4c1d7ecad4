extension RunRecord {
    /// Goodput over time by kind of transfer, with the changes of the link and of its level.
    func plot(title: String) -> LinePlot {
        LinePlot(
            title: title, axes: "seconds; Mbit/s of payload",
            lines: goodput.map { .init(name: $0.kind, points: Self.points($0.values)) },
            marks: levelMarks + causes)
    }

    /// The goodput of all kinds together.
    var totalGoodput: [(x: Double, y: Double)] {
        let count = goodput.map(\.values.count).max() ?? 0
        return Self.points(
            (0..<count).map { index in
                goodput.reduce(0) { $0 + ($1.values.indices.contains(index) ? $1.values[index] : 0) }
            })
    }

    /// The changes that the scenario made.
    var causes: [LinePlot.Mark] { marks.map { .init(x: $0.at, text: $0.text) } }

    /// The times at which the level of a link changed.
    var levelMarks: [LinePlot.Mark] {
        var last: [String: String] = [:]
        return levels.compactMap { change in
            guard last.updateValue(change.level, forKey: change.link) != change.level else { return nil }
            let text = change.link == "*" ? "* \(change.level)" : change.level
            return .init(x: change.at, text: text, kind: .level)
        }
    }

    /// The limits of the destinations' links as steps; for runs with one destination.
    var limit: [(x: Double, y: Double)] {
        var points: [(x: Double, y: Double)] = []
        for change in levels where change.link != "*" && change.at >= 0 {
            guard let limit = change.limit else { continue }
            if let last = points.last { points.append((change.at, last.y)) }
            points.append((change.at, Double(limit)))
        }
        if let last = points.last { points.append((job.seconds, last.y)) }
        return points
    }

    private static func points(_ values: [Double]) -> [(x: Double, y: Double)] {
        values.enumerated().map { ((Double($0) + 0.5) * step, $1) }
    }
}
