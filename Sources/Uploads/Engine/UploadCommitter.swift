internal import Commands
internal import Host
internal import Metrics
internal import Store
internal import Synchronization

/// Commits the changes of concurrent uploads together: a thread for each shard commits all that wait as soon as the
/// commit before has returned.
final class UploadCommitter: Sendable {
    private typealias Outcome = Result<UploadChange, StoreError>

    private struct Entry: Sendable {
        var write: UploadWrite
        var resume: @Sendable (Outcome) -> Void
    }

    private struct Lane: Sendable {
        let number: Int
        let thread: BlockingThread
    }

    private let store: any CommandStore
    private let clock: @Sendable () -> Timestamp
    /// Gets the commands that may run now, after their commit.
    private let hint: @Sendable ([CommandID]) -> Void
    private let lanes: [Lane]
    /// Reads do not wait behind commits, which wait for the disk.
    private let readers = (0..<4).map { BlockingThread(named: "upload-reads-\($0)") }
    private let waiting: Mutex<[[Entry]]>
    private let commitTime = Timer(label: "sluice.commit", dimensions: [("role", "door")])
    private let commitRows = Recorder(label: "sluice.commit.rows", dimensions: [("role", "door")], aggregate: true)

    /// Writes of one transaction; such a commit takes a few milliseconds, in which other writers wait.
    private static let batch = 256

    init(
        _ store: any CommandStore, clock: @escaping @Sendable () -> Timestamp,
        hint: @escaping @Sendable ([CommandID]) -> Void
    ) {
        self.store = store
        self.clock = clock
        self.hint = hint
        lanes = (0..<store.shardCount).map { Lane(number: $0, thread: BlockingThread(named: "uploads-\($0)")) }
        waiting = Mutex(Array(repeating: [], count: store.shardCount))
    }

    deinit {
        for lane in lanes { lane.thread.close() }
        for reader in readers { reader.close() }
    }

    func commit(_ write: UploadWrite) async throws(StoreError) -> UploadChange {
        let lane = lanes[write.id.shard(of: lanes.count)]
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
            let isFirst = waiting.withLock { waiting in
                waiting[lane.number].append(Entry(write: write) { continuation.resume(returning: $0) })
                return waiting[lane.number].count == 1
            }
            if isFirst { lane.thread.perform { [self] in commit(lane.number) } }
        }
        return try outcome.get()
    }

    private func commit(_ shard: Int) {
        let entries = waiting.withLock { waiting in
            defer { waiting[shard] = [] }
            return waiting[shard]
        }
        for start in stride(from: 0, to: entries.count, by: Self.batch) {
            let part = entries[start..<min(start + Self.batch, entries.count)]
            let outcomes: [Outcome]
            let began = MonotonicTime.now
            do throws(StoreError) {
                outcomes = try store.apply(part.map(\.write), shard: shard, now: clock())
                commitTime.recordNanoseconds((MonotonicTime.now - began).nanoseconds)
                commitRows.record(part.count)
            } catch {
                outcomes = part.map { _ in .failure(error) }
            }
            let ready = outcomes.flatMap { (try? $0.get())?.ready ?? [] }
            if !ready.isEmpty { hint(ready) }
            for (entry, outcome) in zip(part, outcomes) { entry.resume(outcome) }
        }
    }

    /// Reads what is committed.
    func read<Value: Sendable>(
        _ id: CommandID, _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Value, StoreError>, Never>) in
            readers[id.shard(of: lanes.count) % readers.count].perform { [store] in
                continuation.resume(returning: Result { () throws(StoreError) in try body(store) })
            }
        }
        return try result.get()
    }
}
