internal import CLinux
internal import Commands
internal import Operations
internal import Sluice
internal import Store
internal import Work

/// Idle latency: from the moment at which the library has acknowledged a submit to the begin of the operation.
struct LatencyBench {
    let workspace: BenchWorkspace
    var samples = 2000

    func run() throws -> [BenchResult] {
        let rig = try BenchRig(workspace)
        defer { rig.clear() }
        let coordinator = try rig.coordinator()
        let workers = try (0..<2).map { _ in try rig.child(["stamper"]) }
        try rig.untilReady(workers: 2)
        // Until each shard has had its first checkpoint, as a service's have after some seconds.
        BenchClock.sleep(10)
        let values = try measure(rig)
        for worker in workers { worker.stop() }
        coordinator.stop()
        func at(_ share: Double) -> Double { BenchResult.percentile(share, of: values) }
        return [
            BenchResult(
                "commit acknowledged to operation begun, p50", at(0.5), "ms", goal: .atMost(0.6),
                note: "\(values.count) submits, one at a time, idle in between"),
            BenchResult("commit acknowledged to operation begun, p99", at(0.99), "ms", goal: .atMost(2)),
            BenchResult("commit acknowledged to operation begun, max", at(1), "ms"),
        ]
    }

    private func measure(_ rig: BenchRig) throws -> [Double] {
        let client = try SluiceClient(
            directory: rig.directory, store: rig.store, registry: OperationRegistry([StampOperation()]))
        let draft = try client.draft("bench.stamp", payload: .object([]))
        let samples = samples
        let acknowledged = try Blocking.run { () async throws -> [(CommandID, Int64)] in
            var acknowledged: [(CommandID, Int64)] = []
            for number in 0..<samples + 100 {
                let id = try await client.submit(draft)
                // The first ones warm up connections and caches.
                if number >= 100 { acknowledged.append((id, clinux_monotonic())) } else { _ = clinux_monotonic() }
                // The thread itself sleeps: a task's sleep wakes others, which would be measured with the command.
                BenchClock.sleep(.random(in: 0.004...0.012))
            }
            return acknowledged
        }
        // Of two workers the one may be behind: the last is not always the last to end.
        try BenchClock.wait("the end of all", seconds: 10) {
            try rig.store.counts()[.success] == samples + 100
        }
        let values = try acknowledged.compactMap { id, time -> Double? in
            guard let result = try rig.store.result(id), let began = JSONValue(stored: result)["at"]?.integer else {
                return nil
            }
            return Double(began - time) / 1e6
        }
        guard values.count == acknowledged.count else {
            throw ExitError(.internalError, "only \(values.count) of \(acknowledged.count) commands were executed")
        }
        try Blocking.run { await client.close() }
        return values
    }
}
