import ArgumentParser
import Commands
import Foundation
import TestSupport

/// Prints a line at once, also into a file.
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
            Each run is a line of results.jsonl in the output directory. Started again with the same directory, it goes on \
            where it was stopped; report.md is written anew at every start and at the end.
            """)

    @Option(help: "Only this scenario (repeatable); “list” shows them.")
    var scenario: [String] = []
    @Option(help: "Only this arm (repeatable): \(Arm.allCases.map(\.rawValue).joined(separator: ", ")).")
    var arm: [String] = []
    @Option(help: "Of every scenario, arm and congestion control.")
    var repetitions = 3
    @Flag(
        help: """
            What the README quotes: at least 3 repetitions of 60 s of ours and fixed8, 5 of 150 s and all arms in the \
            main scenarios; before --repetitions and --seconds.
            """)
    var recorded = false
    @Option(help: "Runs at once, as far as --megabits allow.")
    var atOnce = 1
    @Option(help: "Mbit/s of all links that are emulated at once: what the machine has time for.")
    var megabits = 150.0
    @Option(help: "Mbit/s of a run's shared link at most, where a machine has no time for the scenario's.")
    var uplink: Double?
    @Option(help: "Of every run; some scenarios take longer.")
    var seconds = 60.0
    @Option(help: "TCP congestion control (repeatable): cubic, bbr.")
    var congestion: [String] = ["cubic", "bbr"]
    @Option(help: "auto, tun, or tbf (a rate only).")
    var shaper = "auto"
    @Option(help: "Of the order of runs; a new one when none is given.")
    var seed: UInt64?
    @Option(help: "Where results and report go.")
    var output = "network-evaluation"
    @Flag(help: "Takes --seconds literally, also where a scenario shows nothing in so short a time.")
    var exact = false
    @Flag(help: "Writes the report of what is there, and runs nothing.")
    var reportOnly = false

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
        let path = try Report(records: log.records()).write(to: output)
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
                "the runs in \(output) had \(was), and medians are over like runs: go on so, or name another --output")
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

    /// One run from an empty directory to the end of its processes.
    private static func run(_ job: Job, _ shaper: NetworkBed.Shaper, uplink: Double?) async -> RunRecord {
        let scenario = Scenario.named(job.scenario)!.over(uplink: uplink)
        let ticks = Facts.Ticks.now
        var record = RunRecord(job)
        var facts = Facts.machine
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
        let shares = Facts.Ticks.now.since(ticks)
        facts.append(.init("steal", .number(shares.steal)))
        facts.append(.init("busy", .number(shares.busy)))
        record.facts = .object(facts)
        return record
    }
}
