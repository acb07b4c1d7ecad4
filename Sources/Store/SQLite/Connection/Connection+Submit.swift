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
}
