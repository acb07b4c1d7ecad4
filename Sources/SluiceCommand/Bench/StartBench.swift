internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Store

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
