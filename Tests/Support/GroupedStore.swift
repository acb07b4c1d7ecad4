package import Commands
package import Store
internal import Synchronization

/// A store whose commits take the writes of several shards, as those of a server do. It divides each commit by shards, for a
/// store whose shards commit alone. A test may make shards fail.
package final class GroupedStore: ExecutionStore, UploadStore {
    private struct State {
        var errors: [Int: StoreError] = [:]
        var maxShards = 0
    }

    private let store: any CommandStore
    private let shardsPerGroup: Int
    private let state = Mutex(State())

    package init(_ store: any CommandStore, shardsPerGroup: Int) {
        self.store = store
        self.shardsPerGroup = shardsPerGroup
    }

    /// The largest number of shards whose writes have shared a commit.
    package var maxShards: Int { state.withLock { $0.maxShards } }

    /// Makes writes to a shard fail; nil lets them succeed again. A shard that is `busy` locks its group.
    package func fail(_ shard: Int, with error: StoreError?) { state.withLock { $0.errors[shard] = error } }

    private func failure(of shard: Int) -> StoreError? { state.withLock { $0.errors[shard] } }

    // MARK: Shards

    package var shardCount: Int { store.shardCount }

    package var clock: any StoreClock { store.clock }

    package func commitGroup(of shard: Int) -> CommitGroup {
        let index = shard / shardsPerGroup
        let first = index * shardsPerGroup
        return CommitGroup(index, shards: first..<min(first + shardsPerGroup, shardCount))
    }

    /// The shards of the writes of a commit, and the positions of the writes of each.
    private func divide(
        _ ids: [CommandID], of group: CommitGroup
    ) throws(StoreError) -> [(shard: Int, positions: [Int])] {
        let shards = ids.map { $0.shard(of: shardCount) }
        guard group == commitGroup(of: group.shards.lowerBound), shards.allSatisfy({ group.shards.contains($0) }) else {
            throw StoreError(.invalid, "A write does not belong to the shards \(group).")
        }
        let parts = group.shards.map { shard in (shard: shard, positions: shards.indices.filter { shards[$0] == shard })
        }
        .filter { !$0.positions.isEmpty }
        state.withLock { $0.maxShards = max($0.maxShards, parts.count) }
        return parts
    }

    // MARK: Executions

    package func open(_ session: Session, shard: Int) throws(StoreError) {
        if let error = failure(of: shard) { throw error }
        try store.open(session, shard: shard)
    }

    package func close(seat: Int, epoch: Int64) throws(StoreError) { try store.close(seat: seat, epoch: epoch) }

    package func sessionReading() throws(StoreError) -> SessionReading { try store.sessionReading() }

    package func apply(
        _ writes: () -> [ExecutionWrite], group: CommitGroup, seat: Int, epoch: Int64, _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome {
        for shard in group.shards { if let error = failure(of: shard), error.code == .busy { throw error } }
        let writes = writes()
        let parts = try divide(writes.map(\.id), of: group)
        // Before the first part is written, so that a commit fails as a whole.
        for part in parts { if let error = failure(of: part.shard) { throw error } }
        var outcomes = [ExecutionOutcome](repeating: .refused, count: writes.count)
        var effects = Effects()
        for (shard, positions) in parts {
            let part = try store.apply(
                { positions.map { writes[$0] } }, group: store.commitGroup(of: shard), seat: seat, epoch: epoch, attempt
            )
            for (position, outcome) in zip(positions, part) { outcomes[position] = outcome }
            effects.append(part.effects)
        }
        return CommitOutcome(outcomes, effects)
    }

    package func settle(shard: Int, limit: Int) throws(StoreError) -> Effects {
        try store.settle(shard: shard, limit: limit)
    }

    package func reap(
        seat: Int, epoch: Int64, _ verdict: DeathVerdict, released: (Effects) -> Void
    ) throws(StoreError) {
        try store.reap(seat: seat, epoch: epoch, verdict, released: released)
    }

    // MARK: Uploads

    package func apply(
        _ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        var results: [Int: Result<UploadChange, StoreError>] = [:]
        for (shard, positions) in try divide(writes.map(\.id), of: group) {
            do throws(StoreError) {
                if let error = failure(of: shard) { throw error }
                let part = try store.apply(
                    positions.map { writes[$0] }, group: store.commitGroup(of: shard), isRepetition: isRepetition)
                for (position, result) in zip(positions, part) { results[position] = result }
            } catch {
                for position in positions { results[position] = .failure(error) }
            }
        }
        return writes.indices.compactMap { results[$0] }
    }

    package func upload(_ id: CommandID) throws(StoreError) -> Upload? { try store.upload(id) }

    package func upload(idempotencyKey: String) throws(StoreError) -> Upload? {
        try store.upload(idempotencyKey: idempotencyKey)
    }

    package func holder(of key: UniqueKey, shardByte: UInt8) throws(StoreError) -> CommandID? {
        try store.holder(of: key, shardByte: shardByte)
    }

    package func uploadBody(_ id: CommandID) throws(StoreError) -> [UInt8]? { try store.uploadBody(id) }

    package func uploads(
        shard: Int, state: UploadState?, order: CommandOrder, after: CommandID?, limit: Int
    ) throws(StoreError) -> [Upload] {
        try store.uploads(shard: shard, state: state, order: order, after: after, limit: limit)
    }

    package func dueUploads(shard: Int, limit: Int) throws(StoreError) -> [Upload] {
        try store.dueUploads(shard: shard, limit: limit)
    }
}
