internal import Host
internal import Metrics

/// Measures the commits of a worker: how long each takes, and how many writes share it.
struct CommitMeter: Sendable {
    private let time = Timer(label: "sluice.commit", dimensions: [("role", "worker")])
    private let rows = Recorder(label: "sluice.commit.rows", dimensions: [("role", "worker")], aggregate: true)

    /// A commit has succeeded. One without writes only tests the lock of the shard, and is not measured.
    /// - Parameter start: before the wait for other writers.
    func committed(_ writes: Int, since start: MonotonicTime) {
        guard writes > 0 else { return }
        time.recordNanoseconds((MonotonicTime.now - start).nanoseconds)
        rows.record(writes)
    }
}
