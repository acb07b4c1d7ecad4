internal import CLinux
internal import Commands
internal import Console
internal import Operations
internal import Sluice
internal import Store

/// Idle latency: from the acknowledgement of a submit by the library to the start of the operation.
struct LatencyBench {
    let workspace: BenchWorkspace
    var samples = 2000

    func run() async throws -> [BenchResult] {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        try await onBenchThread { try start(rig) }
        let values = try await measure(rig)
        func at(_ share: Double) -> Double { BenchResult.percentile(share, of: values) }
        return [
            BenchResult(
                "commit acknowledged to operation begun, p50", at(0.5), "ms", goal: .atMost(0.6),
                note: "\(values.count) submits, one at a time, idle in between"),
            BenchResult("commit acknowledged to operation begun, p99", at(0.99), "ms", goal: .atMost(2)),
            BenchResult("commit acknowledged to operation begun, max", at(1), "ms"),
        ]
    }

    /// Starts a coordinator and two workers.
    private func start(_ rig: BenchRig) throws {
        _ = try rig.coordinator()
        for _ in 0..<2 { _ = try rig.child(["stamper"]) }
        try rig.untilReady(workers: 2)
        // Until each shard has had its first checkpoint, as the shards of a service have after some seconds.
        BenchClock.sleep(10)
    }

    private func measure(_ rig: BenchRig) async throws -> [Double] {
        let client = try SluiceClient(rig.opened, registry: OperationRegistry([StampOperation()]))
        let draft = try client.draft("bench.stamp", payload: .object([]))
        var acknowledged: [(CommandID, Int64)] = []
        for number in 0..<samples + 100 {
            let id = try await client.submit(draft)
            // The first ones warm up connections and caches.
            if number >= 100 { acknowledged.append((id, clinux_monotonic())) } else { _ = clinux_monotonic() }
            // The thread itself sleeps: a task's sleep wakes others, which would be measured with the command.
            BenchClock.sleep(.random(in: 0.004...0.012))
        }
        // The command that was submitted last is not always the last to end.
        try BenchClock.wait("the end of all commands", seconds: 10) {
            try rig.store.counts()[.success] == samples + 100
        }
        await client.close()
        let values = try acknowledged.compactMap { id, time -> Double? in
            guard let result = try rig.store.result(id), let began = JSONValue(stored: result)["at"]?.integer else {
                return nil
            }
            return Double(began - time) / 1e6
        }
        guard values.count == acknowledged.count else {
            throw ExitError(.internalError, "only \(values.count) of \(acknowledged.count) commands were executed")
        }
        return values
    }
}
