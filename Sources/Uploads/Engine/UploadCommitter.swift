internal import Commands
internal import Host
internal import Metrics
internal import Store

/// Commits the changes of concurrent uploads together, by a committer for each commit group of the store.
final class UploadCommitter: Sendable {
    private typealias Outcome = Result<UploadChange, StoreError>
    private typealias Committer = GroupCommitter<Entry, [Outcome]>

    private struct Entry: Sendable {
        var write: UploadWrite
        var resume: @Sendable (Outcome) -> Void
    }

    /// Of each shard.
    private let committers: [Committer]
    /// Reads do not wait behind commits, which wait for the disk.
    private let readers: StoreReaders

    /// Writes of one transaction; such a commit takes a few milliseconds, in which other writers wait.
    private static let batch = 256

    /// - Parameter hint: gets the commands that may run now, after their commit.
    init(
        _ store: any UploadStore, readers: StoreReaders,
        hint: @escaping @Sendable ([CommandID]) -> Void
    ) {
        self.readers = readers
        let time = Timer(label: "sluice.commit", dimensions: [("role", "door")])
        let rows = Recorder(label: "sluice.commit.rows", dimensions: [("role", "door")], aggregate: true)
        committers = store.commitGroups.flatMap { group in
            let committer = Committer(
                named: "uploads-\(group.index)", policy: .once, share: { min($0.count, Self.batch) })
            committer.start(
                commit: { writes, attempt throws(StoreError) in
                    let began = MonotonicTime.now
                    let writes = writes().map(\.write)
                    let outcomes = try store.apply(writes, group: group, isRepetition: attempt.isRepetition)
                    time.recordNanoseconds((MonotonicTime.now - began).nanoseconds)
                    rows.record(writes.count)
                    return outcomes
                },
                deliver: { batch in
                    let outcomes = batch.outcomes ?? []
                    let ready = outcomes.flatMap { (try? $0.get())?.ready ?? [] }
                    if !ready.isEmpty { hint(ready) }
                    for (entry, outcome) in zip(batch.writes, outcomes) { entry.resume(outcome) }
                    guard let error = batch.error else { return }
                    for entry in batch.writes { entry.resume(.failure(error)) }
                })
            return repeatElement(committer, count: group.shards.count)
        }
    }

    func commit(_ write: UploadWrite) async throws(StoreError) -> UploadChange {
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
            committers[write.id.shard(of: committers.count)].add(
                Entry(write: write) { continuation.resume(returning: $0) })
        }
        return try outcome.get()
    }

    /// Reads what is committed.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await readers.read(body)
    }
}
