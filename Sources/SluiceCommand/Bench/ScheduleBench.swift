internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Store

/// Many schedules that are due at one time, and what they cost while none is due.
struct ScheduleBench {
    let workspace: BenchWorkspace
    var count = 10_000

    func run() throws -> [BenchResult] {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        let path = "\(workspace.path)/schedules.json"
        // Far enough for the schedules to be stored before.
        let due = Timestamp.now.milliseconds / 60_000 + 3
        let (hour, minute) = (due / 60 % 24, due % 60)
        let entries = (0..<count).map {
            "\"s\($0)\":{\"cron\":\"\(minute) \(hour) * * *\",\"command\":{\"type\":\"noop\",\"payload\":{}}}"
        }
        try SmallFile.write("{\"schedules\":{\(entries.joined(separator: ","))}}", to: path)
        let apply = try BenchProcess(
            executable: Executable.path,
            arguments: ["schedule", "apply", path, "--data", rig.directory.path],
            errors: "\(workspace.path)/schedule-errors")
        try apply.succeed("the apply of the schedules")
        let coordinator = try rig.coordinator()
        try BenchClock.wait("the coordinator", seconds: 30) { rig.hasCoordinator }
        BenchClock.sleep(2)
        let idle = (time: BenchClock.now, processor: coordinator.processorTime)
        let left = Double(due * 60_000 - Timestamp.now.milliseconds) / 1000 - 2
        guard left > 5 else { throw ExitError(.failed, "the schedules took too long to store; try again") }
        BenchClock.sleep(left)
        let share = Double(coordinator.processorTime - idle.processor) / 1e9 / (BenchClock.now - idle.time) * 100
        let (store, count) = (rig.store, count)
        try BenchClock.wait("the last schedule", seconds: 120) { try store.counts()[.new] == count }
        var last = Timestamp.zero
        var after: CommandID?
        while true {
            let page = try store.list(CommandFilter(), after: after, limit: 1000)
            guard let end = page.last else { break }
            after = end.id
            last = page.reduce(last) { max($0, $1.createdAt) }
        }
        coordinator.stop()
        return [
            BenchResult(
                "\(Figures.grouped(Int64(count))) schedules due at once: the last",
                Double(last.milliseconds - due * 60_000) / 1000, "s",
                goal: .atMost(1), note: "after its time"),
            BenchResult(
                "  the coordinator while none is due", share, "%", goal: nil, note: "of one core, all its work included"
            ),
        ]
    }
}
