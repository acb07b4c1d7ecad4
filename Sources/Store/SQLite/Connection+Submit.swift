internal import Commands

extension Connection {
    /// Inserts the drafts of this shard. A refused draft does not affect the others.
    func insert(
        _ drafts: [CommandDraft], _ batch: [SQLiteStore.PendingInsert], allowUnknownTypes: Bool, now: Timestamp
    ) throws(StoreError) -> [Result<Submission, StoreError>] {
        var turn = try newTurn() - 1
        var results: [Result<Submission, StoreError>] = []
        results.reserveCapacity(batch.count)
        var rows: [(StoredCommand, payload: [UInt8])] = []
        rows.reserveCapacity(Query.insertSizes[0])
        // Those of batches, and with rate limits, have more columns.
        var wide: [(StoredCommand, payload: [UInt8])] = []
        var parts: [CommandID: Result<BatchPart, StoreError>] = [:]
        for pending in batch {
            var draft = drafts[pending.index]
            let isAllowed = allowUnknownTypes ? true : try isKnown(draft.type)
            guard isAllowed else {
                results.append(.failure(.unknownType(draft.type, known: knownTypes)))
                continue
            }
            if let problem = problem(of: draft) {
                results.append(.failure(problem))
                continue
            }
            if draft.uniqueKey != nil {
                // A draft before it in the batch may hold its key.
                try insert(&rows)
                try insert(&wide, areRelated: true)
                if let found = try existing(draft, pending.digest, at: now) {
                    results.append(found)
                    continue
                }
            }
            if let batch = draft.batch {
                if parts[batch] == nil { parts[batch] = try openPart(of: batch) }
                switch parts[batch] {
                case nil: break
                case .failure(let problem):
                    results.append(.failure(problem))
                    continue
                case .success(let part): draft.qos = max(draft.qos, part.minQoS ?? draft.qos)
                }
            }
            if !draft.dependencies.isEmpty || draft.orderingKey != nil {
                try insert(&rows)
                try insert(&wide, areRelated: true)
                turn += 1
                let result = try insert(related: draft, pending, turn: turn, now: now)
                results.append(result.with(draft.qos, for: drafts[pending.index]))
                continue
            }
            if draft.limit != nil, let problem = try prepareForRelations() {
                results.append(.failure(problem))
                continue
            }
            turn += 1
            var row = StoredCommand(draft, digest: pending.digest, id: pending.id, turn: turn, now: now)
            row.recordCreation(&changes)
            results.append(
                .success(Submission(id: pending.id, isExisting: false, turn: turn))
                    .with(draft.qos, for: drafts[pending.index]))
            let isWide = draft.batch != nil || draft.limit != nil
            if isWide { wide.append((row, draft.payload)) } else { rows.append((row, draft.payload)) }
            if rows.count == Query.insertSizes[0] { try insert(&rows) }
            if wide.count == Query.insertSizes[0] { try insert(&wide, areRelated: true) }
        }
        try insert(&rows)
        try insert(&wide, areRelated: true)
        return results
    }

    /// The part of a batch in this shard, or why the batch takes no members.
    private func openPart(of batch: CommandID) throws(StoreError) -> Result<BatchPart, StoreError> {
        if let problem = try prepareForRelations() { return .failure(problem) }
        guard let part = try part(of: batch), part.state == .open else {
            return .failure(.cannotJoin(batch, try part(of: batch)))
        }
        return .success(part)
    }

    /// The next turn of the shard.
    func newTurn() throws(StoreError) -> Int64 {
        (try statement(.newestTurn).first { $0.int64(0) } ?? 0) + 1
    }

    /// Why a shard of an earlier version cannot keep a draft.
    private func problem(of draft: CommandDraft) -> StoreError? {
        guard version < 3, draft.uniqueKey != nil, draft.uniqueFor != .kept else { return nil }
        return StoreError(
            .overloaded,
            "Shard \(shard) has version \(version), which keeps a unique key for as long as its command; a period needs "
                + "version 3. The coordinator migrates the store when no worker of the release before runs; try again then.",
            shard: shard)
    }

    /// The answer to a draft whose unique key is held; nil where the key is free.
    func existing(
        _ draft: CommandDraft, _ digest: [UInt8]?, at now: Timestamp
    ) throws(StoreError) -> Result<Submission, StoreError>? {
        guard let unique = draft.unique, let holder = try holder(of: unique, at: now) else { return nil }
        let isEqual: Bool
        if let known = holder.digest {
            isEqual = known == digest
        } else {
            isEqual = try isStored(draft, as: holder)
        }
        guard isEqual else { return .failure(holder.conflict(over: unique.key)) }
        return .success(Submission(id: holder.id, isExisting: true))
    }

    /// The command that holds a unique key; nil where the key is free. A command whose period has lapsed
    /// gives the key up here, in the transaction of the insert or retry that takes the key.
    func holder(of unique: UniqueKey, at now: Timestamp) throws(StoreError) -> UniqueKeyHolder? {
        let find = try statement(.byUniqueKey, unique.type, unique.orderingKey, unique.key)
        guard let holder = try find.first(UniqueKeyHolder.init) else { return nil }
        guard holder.hasLapsed(at: now), !isClockHeld else { return holder }
        try statement(.releaseUniqueKey, holder.turn).run()
        return nil
    }

    /// See ``ClockHold``. Called within a transaction of this shard. The first shard has the setting, and is not entered
    /// twice.
    var isClockHeld: Bool {
        guard let clockTrust else { return false }
        guard shard == 0 else { return clockTrust.isHeld() }
        return clockTrust.isHeld { () throws(StoreError) in try clockHold() }
    }

    func clockHold() throws(StoreError) -> ClockHold? {
        try setting(SettingKey.clockHold).flatMap { ClockHold(setting: $0) }
    }

    /// Whether the holder has the payload and the destination of the draft. For a command without a digest,
    /// which release 0.1.0 submitted.
    private func isStored(_ draft: CommandDraft, as holder: UniqueKeyHolder) throws(StoreError) -> Bool {
        guard let row = try find(holder.id), row.command.destination == draft.destination else { return false }
        return try body(.payload, holder.id) == draft.payload
    }
}

/// Inserts of commands with their payloads.
extension Connection {
    /// Inserts the rows that have gathered, with as few statements as possible, and empties `rows`.
    func insert(_ rows: inout [(StoredCommand, payload: [UInt8])], areRelated: Bool = false) throws(StoreError) {
        var next = 0
        for size in Query.insertSizes {
            while rows.count - next >= size {
                try insert(rows[next..<next + size], areRelated: areRelated)
                next += size
            }
        }
        rows.removeAll(keepingCapacity: true)
    }

    private func insert(
        _ rows: ArraySlice<(StoredCommand, payload: [UInt8])>, areRelated: Bool
    ) throws(StoreError) {
        let commands = try statement(areRelated ? .relatedCommands : .commands, rows: rows.count)
        let payloads = try statement(.payloads, rows: rows.count)
        var parameter: Int32 = 1
        var payloadParameter: Int32 = 1
        for (row, payload) in rows {
            let command = row.command
            commands.bind(command.turn, at: parameter)
            commands.bind(command.id, at: parameter + 1)
            commands.bind(command.type, at: parameter + 2)
            commands.bind(command.qos, at: parameter + 3)
            commands.bind(command.destination.text, at: parameter + 4)
            commands.bind(command.idempotent, at: parameter + 5)
            commands.bind(command.retryLimit, at: parameter + 6)
            commands.bind(row.storedNotBefore, at: parameter + 7)
            commands.bind(command.deadline, at: parameter + 8)
            commands.bind(row.openDeadline, at: parameter + 9)
            commands.bind(command.uniqueKey, at: parameter + 10)
            commands.bind(row.digest.map { Self.digestMark + $0 }, at: parameter + 11)
            commands.bind(command.total, at: parameter + 12)
            commands.bind(row.newestSeq, at: parameter + 13)
            commands.bind(command.createdAt, at: parameter + 14)
            commands.bind(command.updatedAt, at: parameter + 15)
            parameter += 16
            if version >= 3 {
                commands.bind(command.uniqueFor.stored, at: parameter)
                parameter += 1
            }
            if areRelated {
                commands.bind(command.status, at: parameter)
                commands.bind(row.relations.rawValue, at: parameter + 1)
                commands.bind(command.orderingKey, at: parameter + 2)
                commands.bind(command.batch, at: parameter + 3)
                commands.bind(command.limit, at: parameter + 4)
                parameter += 5
            }
            payloads.bind(command.turn, at: payloadParameter)
            payloads.bind(payload, at: payloadParameter + 1)
            payloadParameter += 2
        }
        try commands.run()
        try payloads.run()
    }
}
