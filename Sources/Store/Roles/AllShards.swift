package import Commands

/// One shard after the other, for stores to which a call costs little. The calls of a shard that is unusable are left out.
extension TransitionStore {
    package func lastTransitions() throws(StoreError) -> [Int64?] {
        try mapShards(or: nil) { shard throws(StoreError) -> Int64? in try lastTransition(shard: shard) }
    }
}

extension ReadingStore {
    package func openFlows(limit: Int) throws(StoreError) -> [FlowState] {
        let flows = try mapShards(or: []) { shard throws(StoreError) in try openFlows(shard: shard, limit: limit) }
        return Array(flows.joined().sorted { $0.command.id > $1.command.id }.prefix(limit))
    }

    package func openBatches(limit: Int) throws(StoreError) -> Set<CommandID> {
        Set(
            try mapShards(or: []) { shard throws(StoreError) in try openBatches(shard: shard, limit: limit) }.joined())
    }

    package func relationOverview() throws(StoreError) -> RelationOverview {
        let shards = try mapShards(or: RelationOverview()) { shard throws(StoreError) in
            try relationOverview(shard: shard)
        }
        return shards.reduce(into: RelationOverview()) { $0.add($1) }
    }
}

extension QueueStore {
    package func claimed() throws(StoreError) -> [[ClaimedCommand]] {
        try mapShards(or: []) { shard throws(StoreError) in try claimed(shard: shard) }
    }
}

extension UploadStore {
    package func uploads(state: UploadState?, after: CommandID?, limit: Int) throws(StoreError) -> [Upload] {
        let found = try mapShards(or: []) { shard throws(StoreError) in
            try uploads(shard: shard, state: state, order: .newestFirst, after: after, limit: limit)
        }
        return Array(found.joined().sorted { $0.id > $1.id }.prefix(limit))
    }

    package func dueUploads(limit: Int, each: (Int, Result<[Upload], StoreError>) -> Void) {
        for shard in 0..<shardCount {
            let due = Result { () throws(StoreError) in try dueUploads(shard: shard, limit: limit) }
            if case .success(let uploads) = due, uploads.isEmpty { continue }
            each(shard, due)
        }
    }
}

extension PruningStore {
    package func shardsWithLeftovers() throws(StoreError) -> [Int] { Array(0..<shardCount) }

    package func shardsToPrune(before: Timestamp, statuses: Set<CommandStatus>) throws(StoreError) -> [Int] {
        Array(0..<shardCount)
    }
}
