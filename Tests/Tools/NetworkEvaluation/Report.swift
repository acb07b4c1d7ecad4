import Commands
import Foundation

/// The Markdown page of an evaluation and its plots.
struct Report {
    let records: [RunRecord]
    /// Whether the plots are those of PERFORMANCE.md, and not one of each scenario, arm and congestion control.
    let hasPagePlots: Bool

    init(records: [RunRecord], hasPagePlots: Bool) {
        self.hasPagePlots = hasPagePlots
        self.records = records.filter { $0.error == nil } + records.filter { $0.error != nil }
    }

    private var good: [RunRecord] { records.filter { $0.error == nil } }

    /// Writes `report.md` and an SVG file for each plot.
    /// - Returns: the path of the page.
    func write(to directory: String) throws -> String {
        var page = ["# Sluice over emulated links", "", facts, "", verdicts]
        for scenario in Scenario.all {
            let runs = good.filter { $0.job.scenario == scenario.name }
            if runs.isEmpty { continue }
            page += ["", "## \(scenario.name)", "", "\(scenario.title).", "", table(scenario, runs)]
            for (name, svg) in hasPagePlots ? [] : plots(scenario, runs) {
                try svg.write(toFile: "\(directory)/\(name).svg", atomically: true, encoding: .utf8)
                page += ["", "![\(name)](\(name).svg)"]
            }
            for note in Set(runs.flatMap(\.notes)).sorted() { page += ["", "Note: \(note)."] }
        }
        for plot in hasPagePlots ? PagePlot.all : [] {
            try plot.svg(of: good)?.write(toFile: "\(directory)/\(plot.name).svg", atomically: true, encoding: .utf8)
        }
        let failed = records.filter { $0.error != nil && !good.map(\.job).contains($0.job) }
        if !failed.isEmpty {
            page += ["", "## Runs that failed", ""]
            page += failed.map {
                "* \($0.job.text): \($0.error!.prefix(300).replacingOccurrences(of: "\n", with: " "))"
            }
        }
        let path = "\(directory)/report.md"
        try (page.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    // MARK: Tables

    private var facts: String {
        func all(_ name: String) -> String {
            Set(good.compactMap { $0.facts[name]?.string }).sorted().joined(separator: ", ")
        }
        let dates = good.compactMap { $0.facts["date"]?.string }.sorted()
        func shares(_ name: String) -> String {
            let shares = good.compactMap { $0.facts[name]?.double }
            return "median \(((shares.median ?? 0) * 100).short) %, maximum \(((shares.max() ?? 0) * 100).short) %"
        }
        return [
            "* \(good.count) runs, \(dates.first ?? "–") to \(dates.last ?? "–")", "* machine: \(all("machine"))",
            "* kernel: \(all("kernel"))", "* shaper: \(all("shaper"))",
            "* congestion control: \(Set(good.map(\.job.congestion)).sorted().joined(separator: ", "))",
            "* CPU in use during a run, including everything that ran beside it: \(shares("busy")); taken by the host: "
                + shares("steal"),
            "* Goodput counts payload. TCP carries 1,448 of the 1,500 bytes of a full packet; that is 100 %.",
            "* Figures are the median of the repetitions, then minimum and maximum.",
        ].joined(separator: "\n")
    }

    /// A row for each target, with the result of Sluice.
    private var verdicts: String {
        var lines = ["| scenario | figure | target | ours | met |", "|---|---|---|---|---|"]
        for scenario in Scenario.all {
            for congestion in Set(good.map(\.job.congestion)).sorted() {
                let runs = good.filter { $0.job.scenario == scenario.name && $0.job.congestion == congestion }
                if runs.isEmpty { continue }
                for target in scenario.targets {
                    let (value, text) = judged(target, runs)
                    let met = value.map { target.bound.isMet(by: $0) ? "yes" : "**no**" } ?? "–"
                    let relative = target.relativeTo.map { " of \($0.rawValue)" } ?? ""
                    lines.append(
                        "| \(scenario.name), \(congestion) | \(target.figure) | \(target.bound.text)\(relative) | \(text) | \(met) |"
                    )
                }
            }
        }
        return lines.joined(separator: "\n")
    }

    private func judged(_ target: Target, _ runs: [RunRecord]) -> (Double?, String) {
        let count = runs.count { $0.job.arm == .ours }
        let ours = runs.filter { $0.job.arm == .ours }.compactMap { $0[target.figure] }
        // A run that did not reach the figure counts as the worst value.
        let missed = count - ours.count
        let all = ours + [Double](repeating: target.bound.worst, count: missed)
        guard let median = all.median else { return (nil, "not measured") }
        let note = missed > 0 ? (ours.isEmpty ? "" : ", ") + "not reached in \(missed) of \(count)" : ""
        guard let arm = target.relativeTo else { return (median, (ours.isEmpty ? "" : Self.spread(ours)) + note) }
        let others = runs.filter { $0.job.arm == arm }.compactMap { $0[target.figure] }
        guard let base = others.median, base > 0 else { return (nil, "\(arm.rawValue) is missing") }
        return (median / base, (ours.isEmpty ? "" : Self.spread(ours.map { $0 / base })) + note)
    }

    private static func spread(_ values: [Double]) -> String {
        guard let median = values.median, let min = values.min(), let max = values.max() else { return "–" }
        return values.count == 1 ? median.short : "\(median.short) (\(min.short)–\(max.short))"
    }

    private func table(_ scenario: Scenario, _ runs: [RunRecord]) -> String {
        let columns = Array(Set(runs.map { Column($0.job) })).sorted()
        var figures: [String] = []
        for run in runs {
            for figure in run.figures where !figures.contains(figure.name) { figures.append(figure.name) }
        }
        var lines = ["| | " + columns.map(\.text).joined(separator: " | ") + " |"]
        lines.append("|---|" + String(repeating: "---|", count: columns.count))
        for figure in figures {
            let cells = columns.map { column in
                Self.spread(runs.filter { Column($0.job) == column }.compactMap { $0[figure] })
            }
            lines.append("| \(figure) | " + cells.joined(separator: " | ") + " |")
        }
        let counts = columns.map { column in "\(runs.count { Column($0.job) == column })" }
        lines.append("| runs | " + counts.joined(separator: " | ") + " |")
        return lines.joined(separator: "\n")
    }

    private struct Column: Hashable, Comparable {
        var arm: Arm
        var congestion: String

        init(_ job: Job) { (arm, congestion) = (job.arm, job.congestion) }

        var text: String { "\(arm.rawValue), \(congestion)" }

        static func < (left: Self, right: Self) -> Bool {
            let order = Arm.allCases
            let (a, b) = (order.firstIndex(of: left.arm)!, order.firstIndex(of: right.arm)!)
            return a == b ? left.congestion < right.congestion : a < b
        }
    }

    // MARK: Plots

    private func plots(_ scenario: Scenario, _ runs: [RunRecord]) -> [(String, String)] {
        var plots: [(String, String)] = []
        for column in Set(runs.map { Column($0.job) }).sorted() {
            let first = runs.filter { Column($0.job) == column }.min { $0.job.repetition < $1.job.repetition }
            guard let first, !first.goodput.isEmpty else { continue }
            let name = "\(scenario.name)-\(column.arm.rawValue)-\(column.congestion)"
            plots.append((name, first.plot(title: "\(scenario.name), \(column.text)").svg))
        }
        for sample in Set(runs.flatMap { $0.samples.map(\.name) }).sorted() {
            let rows = Set(runs.map { Column($0.job) }).sorted().map { column in
                (
                    column.text,
                    runs.filter { Column($0.job) == column }.flatMap { run in
                        run.samples.first { $0.name == sample }?.values ?? []
                    }
                )
            }
            let word = sample.prefix { $0.isLetter }
            plots.append(("\(scenario.name)-\(word)", StripPlot(title: "\(scenario.name): \(sample)", rows: rows).svg))
        }
        return plots
    }
}
