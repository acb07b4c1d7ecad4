internal import Commands
internal import Host
internal import Metrics
internal import Store

/// Commits the writes of a worker's executions to the shards of one commit group. Claims are given up where their commit
/// fails; all other writes are retried until they are committed.
typealias ExecutionCommitter = GroupCommitter<ExecutionWrite, CommitOutcome>

/// The committers of a worker, one for each commit group of its store.
struct ExecutionCommitters: Sendable {
    private let groups: [CommitGroup]
    /// In the order of the groups.
    private let committers: [ExecutionCommitter]
    /// The index of the group of each shard.
    private let indexOfShard: [Int]

    /// Groups that commit at the same time. The others gather more writes meanwhile.
    ///
    /// A disk takes flushes one after the other, whatever the number of callers. More commits at a time only make each
    /// smaller: with all eight at once a commit carried 18 writes, and a quarter of the worker's time went to flushing.
    private static let maxCommits = 2

    init(of store: some ShardedStore) {
        let slots = MonotonicSemaphore(value: Self.maxCommits)
        groups = store.commitGroups
        committers = groups.map { group in
            ExecutionCommitter(
                named: "commit-\(group.index)", policy: .untilCommitted, slots: slots, isOptional: { $0.isClaim })
        }
        indexOfShard = groups.flatMap { repeatElement($0.index, count: $0.shards.count) }
    }

    /// The shard of a command.
    func shard(of id: CommandID) -> Int { id.shard(of: indexOfShard.count) }

    subscript(group: CommitGroup) -> ExecutionCommitter { committers[group.index] }
    /// The committer of the writes to a command.
    subscript(id: CommandID) -> ExecutionCommitter { committers[indexOfShard[shard(of: id)]] }

    /// Begins to commit.
    /// - Parameters:
    ///   - commit: makes one commit of a group.
    ///   - deliver: gets each batch of a group, see ``GroupCommitter/start(commit:deliver:)``.
    func start(
        commit:
            @escaping @Sendable (
                _ group: CommitGroup, _ writes: () -> [ExecutionWrite], _ attempt: CommitAttempt
            ) throws(StoreError) -> CommitOutcome,
        deliver: @escaping @Sendable (ExecutionCommitter.Batch, CommitGroup) -> Void
    ) {
        for group in groups {
            self[group].start(
                commit: { writes, attempt throws(StoreError) in try commit(group, writes, attempt) },
                deliver: { deliver($0, group) })
        }
    }

    /// Hands each committer all its writes at once, so that they meet in one commit.
    func add(_ writes: [ExecutionWrite]) {
        guard let first = writes.first else { return }
        if writes.count == 1 { return self[first.id].add(first) }
        if committers.count == 1 { return committers[0].add(writes) }
        var byGroup = [[ExecutionWrite]](repeating: [], count: committers.count)
        for write in writes { byGroup[indexOfShard[shard(of: write.id)]].append(write) }
        for (index, writes) in byGroup.enumerated() where !writes.isEmpty { committers[index].add(writes) }
    }

    /// Commits the writes that were added so far, one group after the other.
    /// - Parameter completion: called when that is done, on some thread.
    func close(then completion: @escaping @Sendable () -> Void) { Self.close(committers[...], then: completion) }

    /// As ``close(then:)``. Returns when that is done.
    func close() async { for committer in committers { await committer.close() } }

    private static func close(
        _ committers: ArraySlice<ExecutionCommitter>, then completion: @escaping @Sendable () -> Void
    ) {
        guard let first = committers.first else { return completion() }
        first.close { close(committers.dropFirst(), then: completion) }
    }
}

extension ExecutionWrite {
    fileprivate var isClaim: Bool { if case .claim = self { true } else { false } }
}

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
