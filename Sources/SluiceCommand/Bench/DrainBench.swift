internal import Commands
internal import Console
internal import Glibc
internal import Store

/// No-ops executed by a coordinator and workers, with one subscriber to every event and all transitions
/// recorded.
struct DrainBench {
    let workspace: BenchWorkspace
    let seconds: Int
    let workers: Int

    func run() throws -> [BenchResult] {
        // A trial shows how many commands are needed.
        let trial = try drain(200_000, atMost: 30)
        let needed = Int(trial.rate * Double(seconds) * 2) + 50_000
        let drained = try drain(needed, atMost: Double(seconds))
        let figures = [
            BenchResult(
                "no-ops drained, \(workers) workers", drained.rate, "/s", goal: .atLeast(40_000),
                note: "\(Figures.grouped(Int64(drained.count))) in \(Figures.decimal(drained.seconds, digits: 1)) s, "
                    + "\(Figures.decimal(drained.transitionsEach, digits: 2)) transitions each, slowest second "
                    + Figures.grouped(Int64(drained.slowest))),
            // Shorter than asked for where the backlog ran out.
            BenchResult("  measured for", drained.seconds, "s", goal: .atLeast(Double(seconds))),
            BenchResult(
                "events received by one subscriber", drained.events, "/s",
                note:
                    "\(Figures.grouped(drained.eventCount)) of \(Figures.grouped(drained.transitionCount)) transitions"),
            BenchResult(
                "processor time of the coordinator", drained.coordinatorShare * 100, "%",
                note:
                    "of one core; workers \(Figures.decimal(drained.workerShare * 100, digits: 0)) % each, subscriber "
                    + "\(Figures.decimal(drained.subscriberShare * 100, digits: 0)) %"),
        ]
        return figures
    }

    private struct Drained {
        var count = 0
        var seconds = 0.0
        var slowest = 0.0
        var eventCount: Int64 = 0
        var transitionCount: Int64 = 0
        var coordinatorShare = 0.0
        var workerShare = 0.0
        var subscriberShare = 0.0

        var rate: Double { seconds > 0 ? Double(count) / seconds : 0 }
        var events: Double { seconds > 0 ? Double(eventCount) / seconds : 0 }
        var transitionsEach: Double { count > 0 ? Double(transitionCount) / Double(count) : 0 }
    }

    /// Measures from the first success on, until the backlog runs out or the time is over.
    private func drain(_ backlog: Int, atMost limit: Double) throws -> Drained {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        try rig.fill(backlog)
        let counted = "\(workspace.path)/events"
        let subscriber = try rig.child(["subscriber"], output: counted)
        let coordinator = try rig.coordinator()
        let fleet = try (0..<workers).map { _ in try rig.worker() }
        try BenchClock.wait("the first success", seconds: 60) { try rig.successes() > 0 }

        var drained = Drained()
        let begin = BenchClock.now
        let first = try rig.successes()
        let firstTransition = try rig.transitions()
        let processors = ([coordinator, subscriber] + fleet).map(\.processorTime)
        var last = (time: begin, count: first)
        drained.slowest = .infinity
        while BenchClock.now - begin < limit {
            BenchClock.sleep(min(1, max(begin + limit - BenchClock.now, 0)))
            let now = BenchClock.now
            let count = try rig.successes()
            drained.count = count - first
            drained.seconds = now - begin
            let isOver = count >= backlog
            if !isOver, now - last.time > 0.5 {
                drained.slowest = min(drained.slowest, Double(count - last.count) / (now - last.time))
            }
            last = (now, count)
            if isOver { break }
        }
        let shares = zip([coordinator, subscriber] + fleet, processors).map { process, before in
            Double(process.processorTime - before) / 1e9 / max(drained.seconds, 0.001)
        }
        drained.transitionCount = try rig.transitions() - firstTransition
        drained.coordinatorShare = shares[0]
        drained.subscriberShare = shares[1]
        drained.workerShare = shares.dropFirst(2).reduce(0, +) / Double(workers)
        if drained.slowest == .infinity { drained.slowest = drained.rate }
        subscriber.stop()
        drained.eventCount = Int64((SmallFile.read(counted) ?? "").filter(\.isNumber)) ?? 0
        for worker in fleet { worker.stop() }
        coordinator.stop()
        return drained
    }
}
