internal import Commands

/// The sweep of the coordinator: one round trip for all shards where nothing has changed.
extension PostgreSQLStore {
    private static let newest = PostgreSQLStatement(
        "sweep-newest",
        """
        SELECT w.number, greatest(
            coalesce((SELECT t.seq FROM transition t WHERE t.shard = w.number ORDER BY t.seq DESC LIMIT 1), 0),
            coalesce((SELECT p.seq FROM pruned p WHERE p.shard = w.number LIMIT 1), 0)),
            coalesce((SELECT true FROM ready_again a WHERE a.shard = w.number LIMIT 1), false)
        FROM unnest($1::int8[]::int2[]) w(number)
        """)

    package func lastTransitions() throws(StoreError) -> [Int64?] {
        try read { transaction throws(StoreError) in
            var numbers: [Int64?] = Array(repeating: nil, count: shardCount)
            let found = try transaction.read(Self.newest, Array(0..<shardCount)).rows { row in
                (shard: row[0] as Int, number: row[1] as Int64)
            }
            for entry in found { numbers[entry.shard] = entry.number }
            return numbers
        }
    }

    package func sweep(_ shards: [ShardSweep], each: (ShardSweep, Result<SweptShard, StoreError>) -> Void) {
        let found = Result { () throws(StoreError) in try firstLook(shards) }
        // Most shards are read by their keys, all of them at once.
        let looked = (try? found.get()) ?? [:]
        let byKeys = looked.filter { shard, swept in shards.contains { $0.shard == shard && Self.readsKeys($0, swept) }
        }
        let keys = Result { () throws(StoreError) in try readyKeys(byKeys.mapValues(\.through)) }
        for sweep in shards {
            each(
                sweep,
                found.flatMap { found in
                    Result { () throws(StoreError) in
                        guard var swept = found[sweep.shard] else {
                            throw StoreError(.invalid, "There is no shard \(sweep.shard); the store has \(shardCount).")
                        }
                        try look(sweep, keys, into: &swept)
                        return swept
                    }
                })
        }
    }

    /// The numbers of the shards, read before everything else, so that no later change counts as read.
    private func firstLook(_ sweeps: [ShardSweep]) throws(StoreError) -> [Int: SweptShard] {
        let asking = sweeps.filter(\.readsClaims).map(\.shard)
        return try read { transaction throws(StoreError) in
            try transaction.pipeline {
                $0.append(Self.newest, sweeps.map(\.shard))
                $0.append(PostgreSQLStore.claimedIn, asking)
            } read: { (results, first) throws(StoreError) in
                var swept: [Int: SweptShard] = [:]
                let numbers = results.take(first).rows { row in (row[0] as Int, row[1] as Int64, row[2] as Bool) }
                for (shard, newest, hasReadyAgain) in numbers {
                    swept[shard] = SweptShard(through: newest, hasReadyAgain: hasReadyAgain)
                }
                for shard in asking {
                    swept[shard]?.claimed = []
                    swept[shard]?.requests = []
                }
                let claims = try results.take(first + 1).rows { row throws(StoreError) in try Claim(row) }
                for claim in claims {
                    swept[claim.shard]?.claimed?.append(claim.command)
                    if claim.isRequested { swept[claim.shard]?.requests?.append(claim.command) }
                }
                return swept
            }
        }
    }

    /// Whether a shard is read by its keys: as it is told, or because too much has changed.
    private static func readsKeys(_ sweep: ShardSweep, _ swept: SweptShard?) -> Bool {
        switch sweep.way {
        case .keys: true
        case .changes(let after): (swept?.through ?? 0) - after > Int64(ShardSweep.maxChanges)
        case nil: false
        }
    }

    /// Takes in the keys of a shard, or what has changed in it.
    private func look(
        _ sweep: ShardSweep, _ keys: Result<[Int: Set<ReadyKey>], StoreError>, into swept: inout SweptShard
    ) throws(StoreError) {
        let (shard, newest) = (sweep.shard, swept.through)
        if Self.readsKeys(sweep, swept) {
            let found = try keys.get()[shard] ?? []
            swept.keys = found
            if found.count > ShardSweep.fewKeys {
                try readChanges(of: shard, after: max(newest - ShardSweep.newestChanges, 0), into: &swept)
            }
        } else if case .changes(let after) = sweep.way {
            swept.through = max(after, newest)
            if newest > after { try readChanges(of: shard, after: after, into: &swept) }
        }
    }

    private func readChanges(of shard: Int, after: Int64, into swept: inout SweptShard) throws(StoreError) {
        let page = try events(shard: shard, after: after, limit: ShardSweep.maxChanges)
        let ids = Set(page.events.map(\.transition).filter { $0.status == .new || $0.status == .error }.map(\.id))
        swept.changed = try ready(shard: shard, ids: Array(ids))
        swept.through = min(swept.through, page.complete)
    }
}
