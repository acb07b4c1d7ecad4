internal import Commands
internal import Console
internal import Glibc
internal import Store

/// The time from kill -9 of a worker with every slot full to the next execution of its commands.
///
/// A kill between two commands of a worker leaves slots empty; such kills are not counted.
struct RecoveryBench {
    let workspace: BenchWorkspace
    /// Kills to count: of workers with every slot full.
    let kills: Int
    var workers = 3
    /// Duration of each command.
    var milliseconds = 5

    private static let slots = 16
    /// Seconds from a death to the start of the next worker, as under `sluice up`.
    private static let restart = 0.1

    func run() throws -> [BenchResult] {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        _ = try rig.coordinator()
        var fleet = try (0..<workers).map { _ in try rig.worker(concurrency: Self.slots) }
        try rig.untilReady(workers: workers)
        var released: [Double] = []
        var claimed: [Double] = []
        var full = 0
        var made = 0
        while full < kills, made < Self.maxKills(kills) {
            made += 1
            if try rig.store.counts()[.new] < 5000 { try rig.fill(20_000, milliseconds: milliseconds) }
            BenchClock.sleep(Double.random(in: 0.15...0.4))
            let victim = fleet.removeFirst()
            guard let session = try rig.store.sessions().first(where: { $0.pid == victim.pid }) else {
                throw ExitError(.internalError, "the worker of kill \(made) has no session")
            }
            let marks = try (0..<rig.store.shardCount).map { try rig.store.lastTransition(shard: $0) }
            let at = Timestamp.now
            victim.kill(SIGKILL)
            victim.wait()
            BenchClock.sleep(Self.restart)
            fleet.append(try rig.worker(concurrency: Self.slots))
            try BenchClock.wait("the reaping of the worker of kill \(made)", seconds: 10) {
                try !rig.store.sessions().contains { $0.epoch == session.epoch }
            }
            let times = try follow(rig, seat: session.seat, after: marks, killedAt: at)
            if times.count >= Self.slots {
                full += 1
                released += times.map(\.released)
                claimed += times.map(\.claimed)
            }
            try BenchClock.wait("the next worker", seconds: 20) { try rig.store.sessions().count >= workers }
        }
        func at(_ share: Double, _ values: [Double]) -> Double { BenchResult.percentile(share, of: values) }
        let note =
            "\(claimed.count) commands of \(full) kills with every slot full, of \(made); \(milliseconds) ms no-ops; "
            + "the next worker starts 0.1 s after"
        return [
            BenchResult("kill -9 with every slot full", Double(full), "kills", goal: .atLeast(Double(kills))),
            BenchResult("kill -9 to claimed again, p50", at(0.5, claimed), "ms", goal: .atMost(50), note: note),
            BenchResult("kill -9 to claimed again, p99", at(0.99, claimed), "ms", goal: .atMost(500)),
            BenchResult("kill -9 to released, p50", at(0.5, released), "ms"),
            BenchResult("kill -9 to released, p99", at(0.99, released), "ms"),
        ]
    }

    /// Kills at most. About seven of eight count, and fewer while other processes use the machine.
    private static func maxKills(_ kills: Int) -> Int { kills + kills / 2 + 20 }

    private struct Recovery {
        var released: Double
        var claimed: Double
    }

    /// Reads the transitions since the kill: each command is released by the reaper, then claimed by another
    /// worker.
    private func follow(
        _ rig: BenchRig, seat: Int, after marks: [Int64], killedAt: Timestamp
    ) throws -> [Recovery] {
        var released: [CommandID: Timestamp] = [:]
        var recoveries: [CommandID: Recovery] = [:]
        var marks = marks
        // Reaped commands are the only ones that go back to `new` here.
        try BenchClock.wait("the commands of the dead worker", seconds: 20) {
            for shard in 0..<rig.store.shardCount {
                while true {
                    let events = try rig.store.events(shard: shard, after: marks[shard], limit: 1000).events
                    for event in events {
                        let transition = event.transition
                        marks[shard] = transition.seq
                        if transition.status == .new, transition.claim > 0 {
                            released[transition.id] = transition.at
                        } else if transition.status == .queued, let start = released[transition.id],
                            recoveries[transition.id] == nil
                        {
                            recoveries[transition.id] = Recovery(
                                released: milliseconds(from: killedAt, to: start),
                                claimed: milliseconds(from: killedAt, to: transition.at))
                        }
                    }
                    if events.count < 1000 { break }
                }
            }
            return recoveries.count == released.count
        }
        return Array(recoveries.values)
    }

    private func milliseconds(from start: Timestamp, to end: Timestamp) -> Double {
        Double(end.milliseconds - start.milliseconds)
    }
}
