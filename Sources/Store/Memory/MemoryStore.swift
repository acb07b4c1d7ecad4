package import Commands
package import Host
internal import Synchronization

/// A store in memory, which ends with its process: for tests, and for programs that need no durability.
package final class MemoryStore: CommandStore {
    struct State {
        var shards: [MemoryShard]
        var types: Set<String>
        var settings: [String: String] = [:]
    }

    package let shardCount: Int
    package let clock: any StoreClock
    private let state: Mutex<State>

    /// - Parameters:
    ///   - shardCount: a power of two from 1 to 256; for any other number the store has 8 shards.
    ///   - types: known types, which are accepted before any worker has registered.
    package init(
        shardCount: Int = 8, types: Set<String> = CommandType.builtIn, clock: any StoreClock = MachineClock()
    ) {
        self.clock = clock
        let isPower = (1...256).contains(shardCount) && shardCount & (shardCount - 1) == 0
        self.shardCount = isPower ? shardCount : 8
        state = Mutex(State(shards: (0..<self.shardCount).map { MemoryShard(number: $0) }, types: types))
    }

    /// Runs `body` with the shard of that number.
    func withShard<Value: Sendable>(
        _ shard: Int, _ body: (inout MemoryShard) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try state.withLock { state throws(StoreError) in
            guard state.shards.indices.contains(shard) else {
                throw StoreError(.invalid, "There is no shard \(shard); the store has \(shardCount).")
            }
            return try body(&state.shards[shard])
        }
    }

    func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

    // MARK: Producers

    package func submit(_ drafts: [CommandDraft], allowUnknownTypes: Bool) -> [Result<Submission, StoreError>] {
        let now = clock.now()
        var random = BufferedRandom()
        let digests = drafts.map(\.digest)
        let limits = LimitCheck(drafts, in: self)
        return withState { state in
            zip(drafts, digests).map { draft, digest in
                if let problem = draft.problem ?? draft.timeProblem(now: now) ?? draft.dependencyProblem
                    ?? limits.problem(of: draft)
                {
                    return .failure(problem)
                }
                guard allowUnknownTypes || state.types.contains(draft.type) else {
                    return .failure(.unknownType(draft.type, known: state.types))
                }
                let id = router.newID(draft.shardByte, now: now, using: &random)
                do throws(StoreError) {
                    let remote = try draft.remoteDependencies(shardCount: shardCount) { id throws(StoreError) in
                        try RemoteParent(id, &state.shards[id.shard(of: shardCount)])
                    }
                    let shard = id.shard(of: shardCount)
                    let result = state.shards[shard].insert(draft, digest: digest, id: id, remote: remote, now: now)
                    return [result].telling(state.shards[shard].takeEffects())[0]
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    package func submit(_ plan: FlowPlan, allowUnknownTypes: Bool) throws(StoreError) -> FlowSubmission {
        let now = clock.now()
        let draft = plan.draft
        if let problem = draft.problem ?? plan.problem ?? plan.timeProblem(now: now) { throw problem }
        try LimitCheck(plan.drafts, in: self).check(plan)
        var random = BufferedRandom()
        let ids = router.newIDs(
            1 + plan.nodes.count + plan.flow.callbacks.count, draft.shardByte, now: now, using: &random)
        let types = types()
        if !allowUnknownTypes, let unknown = plan.drafts.first(where: { !types.contains($0.type) }) {
            throw .unknownType(unknown.type, known: types)
        }
        return try withShard(ids[0].shard(of: shardCount)) { shard throws(StoreError) in
            try shard.submit(plan, ids: ids, now: now)
        }
    }

    package func relationProblems(shard: Int) throws(StoreError) -> [String] {
        try withShard(shard) { shard throws(StoreError) in
            var check = RelationCheck(shard)
            try check.run()
            return check.problems
        }
    }

    package func settle(shard: Int, limit: Int) throws(StoreError) -> Effects {
        try withShard(shard) { shard in
            guard !shard.cascades.isEmpty else { return Effects() }
            shard.settlePostponed(now: clock.now(), limit: limit)
            return shard.takeEffects()
        }
    }

    package func types() -> Set<String> { withState { $0.types } }

    package func record(types: Set<String>) throws(StoreError) {
        if let wrong = types.first(where: { !CommandDraft.isType($0) }) {
            throw StoreError.notAType(wrong)
        }
        withState { $0.types.formUnion(types) }
    }
}

extension MemoryStore {
    private func row(_ id: CommandID) -> StoredCommand? { withState { $0.shards[id.shard(of: shardCount)].rows[id] } }

    package func command(_ id: CommandID) -> Command? { row(id)?.command }
    package func payload(_ id: CommandID) -> [UInt8]? { withState { $0.shards[id.shard(of: shardCount)].payloads[id] } }
    package func result(_ id: CommandID) -> [UInt8]? { withState { $0.shards[id.shard(of: shardCount)].results[id] } }

    package func timeline(_ id: CommandID, before bound: Int64?, limit: Int) -> [Transition] {
        let timeline = withState { $0.shards[id.shard(of: shardCount)].transitions.filter { $0.id == id } }
        guard let bound else { return timeline.suffix(limit) }
        guard timeline.contains(where: { $0.seq == bound }) else { return [] }
        return timeline.filter { $0.seq < bound }.suffix(limit)
    }

    package func page(
        _ filter: CommandFilter, order: CommandOrder, after: CommandID?, limit: Int, until: MonotonicTime?
    ) -> CommandPage {
        let (lower, upper) = filter.idBounds
        let found = withState { state in
            state.shards.flatMap { shard in
                shard.rows.values.lazy.map(\.command).filter { command in
                    lower < command.id && command.id < upper && filter.admits(command)
                        && (after.map { order.precedes($0, command.id) } ?? true)
                        && filter.admits(payload: shard.payloads[command.id] ?? [])
                }
            }
        }.sorted { order.precedes($0.id, $1.id) }
        let limit = min(max(limit, 0), 1000)
        var page = CommandPage()
        page.commands = Array(found.prefix(limit))
        page.scanned = found.count
        if page.commands.count == limit { page.next = page.commands.last?.id ?? after }
        return page
    }

    package func commands(ofRequestKeys prefix: String) -> [String: CommandID] {
        let rows = withState { $0.shards.flatMap { $0.rows.values.sorted { $0.command.turn > $1.command.turn } } }
        var found: [String: CommandID] = [:]
        for row in rows { if let key = row.command.uniqueKey, key.hasPrefix(prefix) { found[key] = row.id } }
        return found
    }

    package func find(_ part: CommandIDPart, limit: Int) -> [Command] {
        let commands = withState { state in state.shards.flatMap { $0.rows.values.map(\.command) } }
            .sorted { $0.id > $1.id }
        let digits = commands.map { CommandIDPart($0.id).digits }
        let atEnds = zip(commands, digits).filter { $1.hasPrefix(part.digits) || $1.hasSuffix(part.digits) }
        let found = atEnds.isEmpty ? zip(commands, digits).filter { $1.utf8.contains(part.digits.utf8) } : atEnds
        return found.prefix(limit).map(\.0)
    }

    package func counts() -> CommandCounts {
        withState { state in
            var counts = CommandCounts()
            for shard in state.shards {
                for (status, cells) in shard.counts.cells {
                    for (qos, n) in cells where n != 0 { counts[status, qos] += n }
                }
            }
            return counts
        }
    }

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
