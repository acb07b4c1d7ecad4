import ArgumentParser
import Commands
import Foundation
import TestSupport

/// Prints a line and flushes it, because standard output may be a file.
private func say(_ line: String) {
    print(line)
    fflush(nil)
}

@main
struct EvaluationTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deploy/evaluate-network",
        abstract: "Runs Sluice over emulated links and writes a report.",
        discussion: """
            Each run is a line of results.jsonl in the output directory. A second start with the same directory continues \
            the evaluation. report.md is written at the end.
            """)

    @Option(help: "Only this scenario (repeatable); “list” shows them.")
    var scenario: [String] = []
    @Option(help: "Only this arm (repeatable): \(Arm.allCases.map(\.rawValue).joined(separator: ", ")).")
    var arm: [String] = []
    @Option(help: "Number of runs of each scenario, arm and congestion control.")
    var repetitions = 3
    @Flag(
        help: """
            The extent of the record: 3 repetitions of 60 s of ours and fixed8; in the main scenarios 5 of 150 s of all \
            arms. Overrides --repetitions and --seconds.
            """)
    var recorded = false
    @Option(help: "Maximum number of concurrent runs, within --megabits.")
    var atOnce = 1
    @Option(help: "Mbit/s of all concurrently emulated links together: the capacity of the machine.")
    var megabits = 150.0
    @Option(help: "Maximum Mbit/s of the shared link of a run, for a machine too slow for that of the scenario.")
    var uplink: Double?
    @Option(help: "Duration of each run; some scenarios take longer.")
    var seconds = 60.0
    @Option(help: "TCP congestion control (repeatable): cubic, bbr.")
    var congestion: [String] = ["cubic", "bbr"]
    @Option(help: "auto, tun, or tbf (limits the rate only).")
    var shaper = "auto"
    @Option(help: "Seed of the order of the runs; random by default.")
    var seed: UInt64?
    @Option(help: "Directory of results and report.")
    var output = "network-evaluation"
    @Flag(help: "Takes --seconds literally, even below the minimum of a scenario.")
    var exact = false
    @Flag(help: "Writes the report of the recorded runs, and runs nothing.")
    var reportOnly = false
    @Flag(
        help: """
            Writes the plots of PERFORMANCE.md instead of one for each run, and removes from results.jsonl the series \
            that they do not show.
            """)
    var page = false

    func run() async throws {
        if scenario == ["list"] {
            for scenario in Scenario.all { say("\(scenario.name): \(scenario.title)") }
            return
        }
        let log = try ResultLog(directory: output)
        if !reportOnly {
            if let obstacle = NetworkBed.obstacle {
                throw ValidationError("no network can be emulated here: \(obstacle)")
            }
            try await run(jobs(), into: log)
        }
        let records = try log.records()
        let path = try Report(records: records, hasPagePlots: page).write(to: output)
        if page {
            try log.replace(
                records.map { PagePlot.needsSeries(of: $0.job, among: records) ? $0 : $0.withoutSeries })
        }
        say("report: \(path)")
    }

    private func jobs() throws -> [Job] {
        let scenarios =
            try scenario.isEmpty
            ? Scenario.all
            : scenario.map { name in
                guard let scenario = Scenario.named(name) else {
                    throw ValidationError("there is no scenario “\(name)”")
                }
                return scenario
            }
        let arms =
            try arm.isEmpty
            ? Arm.allCases
            : arm.map { name in
                guard let arm = Arm(rawValue: name) else { throw ValidationError("there is no arm “\(name)”") }
                return arm
            }
        return scenarios.flatMap { scenario in
            let extent = recorded ? scenario.recorded : Extent(arms: arms, repetitions: repetitions, seconds: seconds)
            return scenario.arms.filter { extent.arms.contains($0) && arms.contains($0) }.flatMap { arm in
                congestion.flatMap { congestion in
                    (1...max(1, extent.repetitions)).map { repetition in
                        Job(
                            scenario: scenario.name, arm: arm, congestion: congestion, repetition: repetition,
                            seconds: exact ? extent.seconds : max(extent.seconds, scenario.minSeconds))
                    }
                }
            }
        }
    }

    private func run(_ jobs: [Job], into log: ResultLog) async throws {
        guard let shaper = NetworkBed.Shaper(rawValue: shaper) else {
            throw ValidationError("there is no shaper “\(shaper)”")
        }
        var random = SeededRandom(seed: seed ?? UInt64.random(in: 1...UInt64(UInt32.max)))
        let before = try log.records().filter { $0.error == nil }
        if let other = before.first(where: { $0.facts["uplink"]?.double != uplink }) {
            let was = other.facts["uplink"]?.double.map { "--uplink \($0.short)" } ?? "no --uplink"
            throw ValidationError(
                "the runs in \(output) had \(was), and a median needs runs of one kind; use the same, or another --output"
            )
        }
        let done = Set(before.map(\.job))
        let open = jobs.filter { !done.contains($0) }.shuffled(using: &random)
        say("\(jobs.count) runs, \(jobs.count - open.count) done before; order of seed \(random.seed)")
        var queue = RunQueue(open, atOnce: atOnce, megabits: megabits, uplink: uplink)
        try await withThrowingTaskGroup(of: RunRecord.self) { group in
            repeat {
                while let job = queue.next() {
                    say("\(open.count - queue.waiting)/\(open.count)  \(job.text)")
                    group.addTask { await Self.run(job, shaper, uplink: uplink) }
                }
                guard let record = try await group.next() else { return }
                queue.end(of: record.job)
                try log.append(record)
                if atOnce > 1 { say("  ended: \(record.job.text)") }
                for figure in record.figures { say("    \(figure.name): \(figure.value.short)") }
                for note in record.notes { say("    \(note)") }
                if let error = record.error { say("    failed: \(error)") }
            } while true
        }
    }

    /// Runs a job in an empty directory, and ends its processes.
    private static func run(_ job: Job, _ shaper: NetworkBed.Shaper, uplink: Double?) async -> RunRecord {
        let scenario = Scenario.named(job.scenario)!.over(uplink: uplink)
        let ticks = Machine.Ticks.now
        var record = RunRecord(job)
        var facts = Machine.facts
        facts.append(.init("date", .string(Timestamp.now.description)))
        if let uplink { facts.append(.init("uplink", .number(uplink))) }
        do {
            let stage = try await Stage(job, scenario, shaper: shaper)
            facts.append(.init("shaper", .string(stage.bed.shaper)))
            do { try await scenario.run(stage) } catch { stage.record.error = "\(error)" }
            record = stage.record
            await stage.finish()
        } catch {
            record.error = "\(error)"
        }
        let shares = Machine.Ticks.now.since(ticks)
        facts.append(.init("steal", .number(shares.steal)))
        facts.append(.init("busy", .number(shares.busy)))
        record.facts = .object(facts)
        return record
    }
}
