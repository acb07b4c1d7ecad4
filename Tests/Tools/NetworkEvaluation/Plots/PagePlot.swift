/// A plot of PERFORMANCE.md, drawn from the recorded runs.
struct PagePlot {
    /// Of the file, without “.svg”.
    let name: String
    let scenarios: [String]
    /// The arms whose series over time the plot shows; empty for a plot of figures and samples.
    var series: [Arm] = []
    let draw: @Sendable ([RunRecord]) -> String

    /// - Returns: nil where no run of its scenarios is recorded.
    func svg(of records: [RunRecord]) -> String? {
        let runs = records.filter { $0.error == nil && scenarios.contains($0.job.scenario) }
        return runs.isEmpty ? nil : draw(runs)
    }

    /// Whether a plot needs the goodput and the levels of this run. All such plots show runs with cubic.
    static func needsSeries(of job: Job, among records: [RunRecord]) -> Bool {
        all.contains { plot in
            plot.scenarios.contains(job.scenario) && plot.series.contains(job.arm)
                && first(records, job.scenario, job.arm, "cubic")?.job == job
        }
    }

    static let all = [
        PagePlot(name: "drop-recover-goodput", scenarios: ["drop-recover"], series: [.ours, .fixed8]) { runs in
            lines(
                runs, "drop-recover", "100 → 2 → 100 Mbit/s, cubic: goodput", axes: "seconds; Mbit/s of payload"
            ) { $0.totalGoodput }
        },
        PagePlot(name: "drop-recover-limit", scenarios: ["drop-recover"], series: [.ours]) { runs in
            let run = first(runs, "drop-recover", .ours, "cubic")
            return LinePlot(
                title: "100 → 2 → 100 Mbit/s, cubic: limit of concurrent transfers and levels",
                axes: "seconds; transfers", lines: [.init(name: "limit", points: run?.limit ?? [])],
                marks: (run?.levelMarks ?? []) + (run?.causes ?? [])
            ).svg
        },
        PagePlot(name: "high-20-slowdown", scenarios: ["high-20"]) { runs in
            strip(
                runs, "2.5 MB of high QoS beside eight low uploads on 20 Mbit/s: time relative to the time alone",
                arms: Arm.allCases
            ) { run in run.samples.first { $0.name == "slowdown" }?.values ?? [] }
        },
        PagePlot(
            name: "recovery", scenarios: ["blackout-silent", "blackout-refused", "drop-recover"]
        ) { runs in
            strip(runs, "seconds from the return of the link until 80 % of its rate is used") { run in
                [run["recovered to 80 % after (s)"]].compactMap { $0 }
            }
        },
        PagePlot(name: "isolation-goodput", scenarios: ["isolation"], series: [.ours, .fixed8]) { runs in
            lines(
                runs, "isolation", "a fast destination before and after a slow one joins, cubic: its goodput",
                axes: "seconds; Mbit/s of payload"
            ) { $0.totalGoodput }
        },
        PagePlot(name: "reaction", scenarios: ["reaction"]) { runs in
            let lines = congestionControls(runs).map { control in
                LinePlot.Line(name: control, points: distribution(samples(runs, .ours, control, "reaction (ms)")))
            }
            return LinePlot(
                title: "high QoS committed → low uploads throttled: distribution",
                axes: "milliseconds; % of the commands",
                lines: lines
            ).svg
        },
        PagePlot(
            name: "goodput", scenarios: ["steady-100", "per-connection-cap", "small-files", "flap", "drop-recover"]
        ) { runs in
            strip(runs.filter { $0.job.congestion == "cubic" }, "goodput in % of the capacity of the link") { run in
                [run["goodput (%)"]].compactMap { $0 }
            }
        },
        PagePlot(name: "estimate-error", scenarios: ["estimate"]) { runs in
            strip(runs, "estimate of the goodput with 1 to 32 transfers: error in %", arms: [.ours]) { run in
                run.samples.first { $0.name == "error (%)" }?.values.map(abs) ?? []
            }
        },
    ]

    // MARK: Selections of runs

    /// The first repetition.
    private static func first(
        _ runs: [RunRecord], _ scenario: String, _ arm: Arm, _ congestion: String
    ) -> RunRecord? {
        runs.filter {
            $0.error == nil && $0.job.scenario == scenario && $0.job.arm == arm && $0.job.congestion == congestion
        }.min { $0.job.repetition < $1.job.repetition }
    }

    private static func congestionControls(_ runs: [RunRecord]) -> [String] {
        Set(runs.map(\.job.congestion)).sorted()
    }

    private static func samples(
        _ runs: [RunRecord], _ arm: Arm, _ congestion: String, _ name: String
    ) -> [Double] {
        runs.filter { $0.job.arm == arm && $0.job.congestion == congestion }.flatMap { run in
            run.samples.first { $0.name == name }?.values ?? []
        }
    }

    /// The share of values up to each value in percent, as steps from zero.
    private static func distribution(_ values: [Double]) -> [(x: Double, y: Double)] {
        let shares = values.sorted().enumerated().flatMap { index, value in
            [index, index + 1].map { (x: value, y: Double($0) / Double(values.count) * 100) }
        }
        return [(0, 0)] + shares
    }

    // MARK: Forms

    /// A line for Sluice and one for eight fixed transfers.
    private static func lines(
        _ runs: [RunRecord], _ scenario: String, _ title: String, axes: String,
        _ points: (RunRecord) -> [(x: Double, y: Double)]
    ) -> String {
        let chosen = [Arm.ours, .fixed8].compactMap { first(runs, scenario, $0, "cubic") }
        return LinePlot(
            title: title, axes: axes,
            lines: chosen.map { .init(name: $0.job.arm.label, points: points($0)) },
            marks: chosen.first?.causes ?? []
        ).svg
    }

    /// A row for each scenario, arm and congestion control.
    private static func strip(
        _ runs: [RunRecord], _ title: String, arms: [Arm] = [.ours, .fixed8], _ values: (RunRecord) -> [Double]
    ) -> String {
        let scenarios = Scenario.all.map(\.name).filter { name in runs.contains { $0.job.scenario == name } }
        let controls = congestionControls(runs)
        let rows = scenarios.flatMap { scenario in
            arms.flatMap { arm in
                controls.map { control in
                    let selected = runs.filter {
                        $0.job.scenario == scenario && $0.job.arm == arm && $0.job.congestion == control
                    }
                    let name =
                        (scenarios.count > 1 ? [scenario] : []) + [arm.label] + (controls.count > 1 ? [control] : [])
                    return (name: name.joined(separator: ", "), values: selected.flatMap(values))
                }
            }
        }
        return StripPlot(title: title, rows: rows.filter { !$0.values.isEmpty }).svg
    }
}

extension Arm {
    /// The name in a plot.
    fileprivate var label: String {
        switch self {
        case .ours: "Sluice"
        case .withoutPreemption: "Sluice without preemption"
        case .fixed1: "1 transfer"
        case .fixed8: "8 transfers"
        case .fixed32: "32 transfers"
        }
    }
}
