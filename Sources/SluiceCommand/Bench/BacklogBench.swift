internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Sluice
internal import Store
internal import Wire

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
