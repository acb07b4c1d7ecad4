internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Store

/// Flows, from their submit to their end, with a coordinator and workers.
struct FlowBench {
    let workspace: BenchWorkspace
    let workers: Int

    /// The time that no figure comes near.
    private static let timeout = 300

    // MARK: Figures

    /// A whole `sluice flow submit` process: start, parse, check, commit, print.
    func submit() throws -> [BenchResult] {
        let path = "\(workspace.path)/flow-lines"
        var text = "{\"flow\":{\"name\":\"fan\"}}\n{\"node\":\"root\",\"type\":\"noop\"}\n"
        for number in 0..<9_998 { text += "{\"node\":\"page-\(number)\",\"type\":\"noop\",\"after\":\"root\"}\n" }
        text += "{\"node\":\"join\",\"type\":\"noop\",\"after\":\"page-*\"}\n"
        try SmallFile.write(text, to: path)
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        let times = try (0..<3).map { _ in
            let begin = BenchClock.now
            let process = try BenchProcess(
                executable: Executable.path,
                arguments: ["flow", "submit", path, "--lines", "--data", rig.directory.path],
                errors: "\(workspace.path)/flow-errors")
            try process.succeed("the submit of a flow")
            return BenchClock.now - begin
        }
        return [
            BenchResult(
                "submit of a flow of 10,000 nodes", BenchResult.percentile(0.5, of: times), "s", goal: .atMost(0.3),
                note: "start of the process included, median of 3")
        ]
    }

    /// From the commit of the root's success to that of the join.
    func fan() throws -> [BenchResult] {
        try onRig { rig in
            var results: [BenchResult] = []
            for (count, repetitions, goal) in [(10_000, 3, 0.5), (99_998, 1, 4.0)] {
                let times = try (0..<repetitions).map { _ in
                    let flow = try self.submit(Self.fan(count), rig)
                    try self.wait(for: flow, rig)
                    let nodes = try rig.store.flowNodes(flow, after: 0, limit: 1)
                    let join = try rig.store.flowNodes(
                        flow, after: (nodes.first?.position ?? 0) + Int64(count), limit: 1)
                    guard let first = nodes.first, let last = join.first, last.name == "join" else {
                        throw ExitError(.internalError, "the flow of a bench has not all its nodes")
                    }
                    return seconds(from: first.command.updatedAt, to: last.command.updatedAt)
                }
                results.append(
                    BenchResult(
                        "fan-out and fan-in of \(Figures.grouped(Int64(count)))",
                        BenchResult.percentile(0.5, of: times), "s",
                        goal: .atMost(goal),
                        note: repetitions == 1 ? "" : "median of \(repetitions)"))
            }
            return results
        }
    }

    /// From the start of the first node to the end of the last.
    func chain() throws -> [BenchResult] {
        try onRig { rig in
            let times = try (0..<3).map { _ in
                let flow = try self.submit(Self.chain(1000), rig)
                try self.wait(for: flow, rig)
                guard let first = try rig.store.flowNodes(flow, after: 0, limit: 1).first,
                    let begin = try rig.store.timeline(first.command.id).first(where: { $0.status == .sent }),
                    let end = try rig.store.command(flow)
                else { throw ExitError(.internalError, "the flow of a bench has no nodes") }
                return seconds(from: begin.at, to: end.updatedAt)
            }
            return [
                BenchResult(
                    "chain of 1,000 no-ops", BenchResult.percentile(0.5, of: times), "s", goal: .atMost(1.2),
                    note: "median of 3")
            ]
        }
    }

    /// From the cancellation of the root to the end of the flow, with a coordinator alone.
    func cascade() throws -> [BenchResult] {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        let coordinator = try rig.coordinator()
        try BenchClock.wait("the coordinator", seconds: 30) { rig.hasCoordinator }
        let flow = try submit(Self.fan(99_998), rig)
        guard let root = try rig.store.flowNodes(flow, after: 0, limit: 1).first else {
            throw ExitError(.internalError, "the flow of a bench has no nodes")
        }
        let begin = BenchClock.now
        _ = try rig.store.cancel(root.command.id, reason: "a bench")
        try wait(for: flow, rig)
        let duration = BenchClock.now - begin
        coordinator.stop()
        return [
            BenchResult("cancelled root to the end of 100,000 nodes", duration, "s", goal: .atMost(1))
        ]
    }

    // MARK: Flows

    private static func fan(_ count: Int) -> FlowDraft {
        var nodes = [FlowNode("root", BenchRig.noop())]
        nodes += (0..<count).map { FlowNode("page-\($0)", BenchRig.noop(), after: ["root": .success]) }
        let pages = Dictionary(uniqueKeysWithValues: (0..<count).map { ("page-\($0)", DependencyCondition.success) })
        nodes.append(FlowNode("join", BenchRig.noop(), after: pages))
        return FlowDraft("fan", nodes: nodes)
    }

    private static func chain(_ count: Int) -> FlowDraft {
        FlowDraft(
            "chain",
            nodes: (0..<count).map {
                FlowNode("n\($0)", BenchRig.noop(), after: $0 == 0 ? [:] : ["n\($0 - 1)": .success])
            })
    }

    private func submit(_ draft: FlowDraft, _ rig: BenchRig) throws -> CommandID {
        let plan: FlowPlan
        do throws(FlowError) { plan = try FlowPlan(draft) } catch { throw ExitError(.internalError, "\(error)") }
        return try rig.store.submit(plan, allowUnknownTypes: false).submission.id
    }

    private func wait(for flow: CommandID, _ rig: BenchRig) throws {
        try BenchClock.wait("the end of a flow", seconds: Double(Self.timeout)) {
            try rig.store.command(flow)?.status.isFinal ?? false
        }
    }

    private func onRig(_ body: (BenchRig) throws -> [BenchResult]) throws -> [BenchResult] {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        let coordinator = try rig.coordinator()
        let fleet = try (0..<workers).map { _ in try rig.worker() }
        try rig.untilReady(workers: workers)
        let results = try body(rig)
        for process in fleet + [coordinator] { process.stop() }
        return results
    }

    private func seconds(from begin: Timestamp, to end: Timestamp) -> Double {
        Double(end.milliseconds - begin.milliseconds) / 1000
    }
}
