package import Commands

extension MemoryStore {
    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) {
        withState { store in
            for (key, value) in settings { store.settings[key] = value }
            guard settings.contains(where: { $0.key == SettingKey.clockHold }) else { return }
            let hold = store.settings[SettingKey.clockHold].flatMap { ClockHold(setting: $0) }
            for shard in store.shards.indices { store.shards[shard].clockHold = hold }
        }
    }

    package func update(_ key: String, timeout: Duration, _ change: (String?) -> String?) {
        withState { $0.settings[key] = change($0.settings[key]) }
    }

    package func setting(_ key: String) -> String? { withState { $0.settings[key] } }

    package func settings(prefix: String) -> [String: String] {
        withState { $0.settings.filter { $0.key.hasPrefix(prefix) } }
    }

    package func prune(
        shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int
    ) throws(StoreError) -> PruneResult {
        let now = clock.now()
        return try withShard(shard) { shard in
            if shard.isClockHeld { return PruneResult() }
            func isOld(_ row: StoredCommand) -> Bool {
                row.command.status.isFinal && statuses.contains(row.command.status) && row.command.updatedAt < before
            }
            let old = shard.rows.values.filter { isOld($0) && shard.prunable($0, isOld: isOld) != nil }
            let found = old.sorted { $0.command.updatedAt < $1.command.updatedAt }.prefix(max(limit, 0))
            var pruned = PruneResult()
            for row in found where pruned.count < limit && shard.rows[row.id] != nil {
                guard let all = shard.prunable(row, isOld: isOld) else { continue }
                if row.key != nil, row.command.status == .inDoubt || row.holdsKey {
                    _ = shard.change(row.id) { $0.cancelHolder(now: now, &$1) }
                    pruned.hasMoved = true
                    continue
                }
                if all.contains(where: { shard.leftovers[$0.id] != nil }) {
                    pruned.held += 1
                    for row in all where shard.leftovers[row.id] != nil { shard.leftovers[row.id] = .zero }
                    continue
                }
                pruned.count += all.count
                pruned.abandoned += all.filter { $0.command.status != .success }.compactMap { shard.payloads[$0.id] }
                shard.delete(Set(all.map(\.id)))
            }
            return pruned
        }
    }

    package func cleanUp(
        shard number: Int, limit: Int, _ cleanup: (Leftover) -> CommandDraft?
    ) throws(StoreError) -> Int {
        let now = clock.now()
        return try withShard(number) { shard throws(StoreError) in
            if shard.isClockHeld { return 0 }
            let due = shard.leftovers.filter { $0.value <= now }.keys.sorted().prefix(max(limit, 0))
            for id in due {
                shard.leftovers[id] = nil
                guard let row = shard.rows[id], let payload = shard.payloads[id],
                    let checkpoint = shard.checkpoints[id]
                else { continue }
                let leftover = Leftover(command: row.command, payload: payload, checkpoint: checkpoint)
                guard leftover.isOfEnded, let draft = cleanup(leftover), draft.problem == nil else { continue }
                shard.checkpoints[id] = nil
                let own = CommandID(now: now, shardByte: id.shardByte)
                _ = try shard.insert(draft, digest: draft.digest, id: own, now: now).get()
            }
            return due.count
        }
    }
}

extension MemoryStore: StoreHealth {
    package var problems: [StoreError] { [] }
    package var overloads: [StoreError] { [] }
    package var backupTime: Timestamp? { nil }
    package func copyWarning() -> String? { nil }
    package func requireOriginal() {}
    package func durability() -> String { "none" }
}
