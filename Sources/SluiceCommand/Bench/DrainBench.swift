internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Sluice
internal import Store
internal import Wire

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

/// The rate at which commands with ordering keys, rate limits or a batch are drained, relative to others in the same run.
struct RelatedDrainBench {
    let workspace: BenchWorkspace
    let workers: Int

    private static let rounds = 3

    /// 10,000 keys with ten commands each, and one key.
    func keys() throws -> [BenchResult] {
        let count = 100_000
        let share = try compare(count) { _, drafts in
            for index in drafts.indices { drafts[index].orderingKey = "key \(index % 10_000)" }
        }
        let one = try rate(3000) { _, drafts in
            for index in drafts.indices { drafts[index].orderingKey = "key" }
        }
        return [
            BenchResult(
                "10,000 ordering keys with 10 commands each", share.value, "%", goal: .atLeast(60),
                note: "of the rate without keys in the same run; \(share.note)"),
            BenchResult("one ordering key", one, "/s", goal: .atLeast(800), note: "3,000 no-ops, one after the other"),
        ]
    }

    /// A batch over all shards.
    func batch() throws -> [BenchResult] {
        let share = try compare(200_000) { rig, drafts in
            let batch = try rig.store.open(BatchDraft("bench"), allowUnknownTypes: false)
            for index in drafts.indices { drafts[index].batch = batch }
        }
        return [
            BenchResult(
                "a batch of 200,000 over all shards", share.value, "%", goal: .atLeast(90),
                note: "of the rate without a batch in the same run; \(share.note)")
        ]
    }

    private func compare(
        _ count: Int, _ change: (BenchRig, inout [CommandDraft]) throws -> Void
    ) throws -> (value: Double, note: String) {
        var (plain, related): ([Double], [Double]) = ([], [])
        for _ in 0..<Self.rounds {
            plain.append(try rate(count) { _, _ in })
            related.append(try rate(count, change))
        }
        let (before, after) = (BenchResult.percentile(0.5, of: plain), BenchResult.percentile(0.5, of: related))
        return (
            after / before * 100,
            "medians of \(Self.rounds): \(Figures.grouped(Int64(after))) and \(Figures.grouped(Int64(before)))/s"
        )
    }

    /// Commands a second, from the first success on.
    private func rate(_ count: Int, _ change: (BenchRig, inout [CommandDraft]) throws -> Void) throws -> Double {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        var drafts = [CommandDraft](repeating: BenchRig.noop(), count: count)
        try change(rig, &drafts)
        for start in stride(from: 0, to: count, by: 10_000) {
            let page = Array(drafts[start..<min(start + 10_000, count)])
            for result in rig.store.submit(page, allowUnknownTypes: false) { _ = try result.get() }
        }
        let coordinator = try rig.coordinator()
        let fleet = try (0..<workers).map { _ in try rig.worker() }
        try BenchClock.wait("the first success", seconds: 60) { try rig.successes() > 0 }
        let (begin, first) = (BenchClock.now, try rig.successes())
        try BenchClock.wait("the last success", seconds: 300) { try rig.successes() >= count }
        let duration = BenchClock.now - begin
        for process in fleet + [coordinator] { process.stop() }
        return Double(count - first) / max(duration, 0.001)
    }
}

/// The cost of a large backlog: the coordinator's start and memory, and the drain rate compared with a small
/// backlog.
struct BacklogBench {
    let workspace: BenchWorkspace
    let size: Int
    let workers: Int
    var seconds = 15.0

    private static let small = 10_000

    func run() throws -> [BenchResult] {
        let large = try measure(size)
        let small = try measure(Self.small)
        let name = "backlog of \(Figures.grouped(Int64(size)))"
        return [
            BenchResult("\(name): start of the coordinator", large.start, "s", goal: .atMost(2)),
            BenchResult(
                "\(name): its memory, peak", large.memory / 1e6, "MB", goal: .atMost(120),
                note: "VmHWM, after the drain"),
            BenchResult("\(name): drain rate", large.rate, "/s", note: "refilled meanwhile, so that it stays as large"),
            BenchResult(
                "backlog of \(Figures.grouped(Int64(Self.small))): drain rate", small.rate, "/s",
                note: "refilled as well"),
            BenchResult("  large of small", large.rate / small.rate * 100, "%", goal: .atLeast(80)),
        ]
    }

    private func measure(_ backlog: Int) throws -> (start: Double, memory: Double, rate: Double) {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        try rig.fill(backlog)
        let gate = try ReadyGate(path: "\(workspace.path)/notify")
        let begin = BenchClock.now
        let coordinator = try BenchProcess(
            executable: Executable.path,
            arguments: ["coordinator", "--data", rig.directory.path, "--log-level", "warning"],
            errors: "\(workspace.path)/backlog-errors", environment: ["NOTIFY_SOCKET=\(gate.path)"])
        defer {
            coordinator.kill(SIGKILL)
            coordinator.wait()
        }
        try gate.wait(seconds: 60)
        let start = BenchClock.now - begin
        for _ in 0..<workers { _ = try rig.worker() }
        try BenchClock.wait("the first success", seconds: 60) { try rig.successes() > 0 }
        try refill(rig, to: backlog, for: 2)
        let first = (time: BenchClock.now, count: try rig.successes())
        try refill(rig, to: backlog, for: seconds)
        let rate = Double(try rig.successes() - first.count) / (BenchClock.now - first.time)
        return (start, Double(coordinator.memory?.peak ?? 0), rate)
    }

    private func refill(_ rig: BenchRig, to backlog: Int, for seconds: Double) throws {
        let end = BenchClock.now + seconds
        while BenchClock.now < end {
            let missing = backlog - (try rig.store.counts()[.new])
            if missing >= 2000 {
                // As every producer does; otherwise the sweep finds the new commands up to 5 s later.
                HintSender.send(.ready, try rig.fill(min(missing, 4000)), through: rig.opened)
            } else {
                BenchClock.sleep(0.005)
            }
        }
    }
}
