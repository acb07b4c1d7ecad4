internal import Host
internal import Metrics
internal import Store

/// Measures the commits of a worker: how long each takes, and how many writes share it.
struct CommitMeter: Sendable {
    private let time = Timer(label: "sluice.commit", dimensions: [("role", "worker")])
    private let rows = Recorder(label: "sluice.commit.rows", dimensions: [("role", "worker")], aggregate: true)

    /// Measures a commit that succeeds. One without writes only tests the lock of the shard, and is not measured.
    func measure(
        _ writes: () -> [ExecutionWrite],
        _ commit: (() -> [ExecutionWrite]) throws(StoreError) -> CommitOutcome
    ) throws(StoreError) -> CommitOutcome {
        let start = MonotonicTime.now
        var count = 0
        let outcome = try commit {
            let taken = writes()
            count = taken.count
            return taken
        }
        guard count > 0 else { return outcome }
        time.recordNanoseconds((MonotonicTime.now - start).nanoseconds)
        rows.record(count)
        return outcome
    }
}
