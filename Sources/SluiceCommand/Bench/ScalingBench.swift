internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Store

/// The rate of 20 ms commands with 1, 2 and 4 workers of concurrency 16.
struct ScalingBench {
    let workspace: BenchWorkspace
    var seconds = 8.0

    private static let milliseconds = 20

    func run() throws -> [BenchResult] {
        let rates = try [1, 2, 4].map { try rate(workers: $0) }
        return [
            BenchResult("20 ms no-ops, 1 worker", rates[0], "/s", note: "800/s is the maximum of 16 slots"),
            BenchResult("20 ms no-ops, 2 workers", rates[1], "/s"),
            BenchResult("  of 1 worker", rates[1] / rates[0], "x", goal: .atLeast(1.9)),
            BenchResult("20 ms no-ops, 4 workers", rates[2], "/s"),
            BenchResult("  of 2 workers", rates[2] / rates[1], "x", goal: .atLeast(1.8)),
            try joining(),
        ]
    }

    private func rate(workers: Int) throws -> Double {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        try rig.fill(Int(Double(workers) * 800 * (seconds + 6)), milliseconds: Self.milliseconds)
        _ = try rig.coordinator()
        for _ in 0..<workers { _ = try rig.worker() }
        try rig.untilReady(workers: workers)
        try BenchClock.wait("the first success", seconds: 30) { try rig.successes() > 0 }
        BenchClock.sleep(2)
        let begin = (time: BenchClock.now, count: try rig.successes())
        BenchClock.sleep(seconds)
        return Double(try rig.successes() - begin.count) / (BenchClock.now - begin.time)
    }

    /// The time from the start of a worker process to its first claim.
    private func joining() throws -> BenchResult {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        try rig.fill(20_000, milliseconds: Self.milliseconds)
        _ = try rig.coordinator()
        _ = try rig.worker()
        try rig.untilReady(workers: 1)
        try BenchClock.wait("the first success", seconds: 30) { try rig.successes() > 0 }
        let begin = BenchClock.now
        _ = try rig.worker()
        var newcomer: Session?
        try BenchClock.wait("the second worker's first command", seconds: 30) {
            if newcomer == nil { newcomer = try rig.store.sessions().first { $0.seat == 1 } }
            guard let newcomer else { return false }
            for shard in 0..<rig.store.shardCount {
                if try rig.store.claimed(shard: shard).contains(where: { $0.epoch == newcomer.epoch }) { return true }
            }
            return false
        }
        return BenchResult(
            "a worker joins: start to first command", (BenchClock.now - begin) * 1000, "ms", goal: .atMost(1000))
    }
}

/// The time from the start of a worker to its READY=1, and its memory when idle.
struct StartBench {
    let workspace: BenchWorkspace
    var rounds = 10

    func run() throws -> [BenchResult] {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        _ = try rig.coordinator()
        try rig.untilReady(workers: 0)
        var starts: [Double] = []
        var peaks: [Double] = []
        var proportions: [Double] = []
        for _ in 0..<rounds {
            let gate = try ReadyGate(path: "\(workspace.path)/notify")
            let begin = BenchClock.now
            let worker = try BenchProcess(
                executable: Executable.path,
                arguments: ["worker", "--data", rig.directory.path, "--log-level", "warning"],
                errors: "\(workspace.path)/start-errors", environment: ["NOTIFY_SOCKET=\(gate.path)"])
            defer { worker.kill(SIGKILL) }
            try gate.wait(seconds: 20)
            starts.append((BenchClock.now - begin) * 1000)
            BenchClock.sleep(1.5)
            if let memory = worker.memory {
                peaks.append(Double(memory.peak) / 1e6)
                proportions.append(Double(memory.proportional) / 1e6)
            }
            worker.stop()
        }
        return [
            BenchResult(
                "worker: start to ready", BenchResult.percentile(0.5, of: starts), "ms", goal: .atMost(150),
                note: "median of \(rounds), slowest \(Figures.decimal(starts.max() ?? 0, digits: 0)) ms"),
            BenchResult(
                "worker: peak memory, idle", BenchResult.percentile(0.5, of: peaks), "MB", goal: .atMost(30),
                note: "VmHWM"),
            BenchResult(
                "  of it in proportion to its users", BenchResult.percentile(0.5, of: proportions), "MB",
                note: "PSS; the coordinator maps the same program"),
        ]
    }
}
