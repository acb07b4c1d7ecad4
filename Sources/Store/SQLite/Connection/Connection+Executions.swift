internal import Commands

/// The writes of a worker, inside a transaction. This is the hottest code of the store: three transitions of
/// a command may cost 20 µs.
extension Connection {
    func hasSession(seat: Int, epoch: Int64) throws(StoreError) -> Bool {
        try statement(.hasSession, seat, epoch).hasRow()
    }

    func inFlight(seat: Int, epoch: Int64) throws(StoreError) -> [StoredCommand] {
        try rows(statement(.inFlightOf, seat, epoch))
    }

    func claim(
        _ id: CommandID, turn: Int64, sent: Bool, seat: Int, epoch: Int64, now: Timestamp
    ) throws(StoreError) -> ExecutionOutcome {
        let select = try statement(turn > 0 ? .claimableByTurn : .claimable)
        if turn > 0 { select.bind(turn, at: 1) } else { select.bind(id, at: 1) }
        guard try select.step() else { return .refused }
        defer { select.reset() }
        var row = try StoredCommand(select, self)
        guard row.id == id else { return .refused }
        let wasHeldBack = row.command.notBefore != .zero
        guard
            let transitions = row.claim(
                seat: seat, epoch: epoch, sent: sent, now: now, isClockHeld: isClockHeld, &changes)
        else { return .refused }
        let payload = select.bytes(Query.columnCount)
        let checkpoint = select.optionalBytes(Query.columnCount + 1)
        // Closes the read cursor: an open one makes the update slower.
        select.reset()
        if wasHeldBack { try save(row) } else { try saveClaim(row) }
        cacheClaim(row)
        return .claimed(row.command, payload: payload, checkpoint: checkpoint, transitions)
    }

    /// The outcome of a repeated write that was made the first time; nil where it is to be made now.
    func outcome(
        ofMade write: ExecutionWrite, of commit: [ExecutionWrite], seat: Int, epoch: Int64
    ) throws(StoreError) -> ExecutionOutcome? {
        guard let row = try find(write.id),
            let transitions = row.transitions(
                madeBy: write, of: commit, seat: seat, epoch: epoch, in: try timeline(write.id))
        else { return nil }
        guard case .claim = write else { return .done(transitions, retries: row.command.retries) }
        let select = try statement(.claimable, write.id)
        defer { select.reset() }
        guard try select.step() else { return nil }
        return .claimed(
            row.command, payload: select.bytes(Query.columnCount),
            checkpoint: select.optionalBytes(Query.columnCount + 1), transitions)
    }

    func send(_ id: CommandID, claim: Int, now: Timestamp) throws(StoreError) -> ExecutionOutcome {
        guard var row = try find(id) else { return .replaced }
        switch row.send(claim: claim, now: now, &changes) {
        case .replaced: return .replaced
        case .refused: return .refused
        case .sent(let transition):
            try saveClaim(row)
            cacheClaim(row)
            return .done([transition], retries: row.command.retries)
        }
    }

    func progress(
        _ id: CommandID, claim: Int, offset: Int64, total: Int64, now: Timestamp
    ) throws(StoreError) -> ExecutionOutcome {
        guard let row = try find(id), row.command.claim == claim, row.command.status.isClaimed else { return .replaced }
        let progress = try statement(.progress)
        progress.bind(row.command.turn, at: 1)
        progress.bind(max(offset, 0), at: 2)
        progress.bind(max(total, 0), at: 3)
        progress.bind(now, at: 4)
        try progress.run()
        return .done([], retries: row.command.retries)
    }

    func saveCheckpoint(_ id: CommandID, claim: Int, _ state: [UInt8]) throws(StoreError) -> ExecutionOutcome {
        guard let row = try find(id), row.command.claim == claim, row.command.status.isClaimed else { return .replaced }
        let update = try statement(.setCheckpoint)
        update.bind(row.command.turn, at: 1)
        update.bind(state, at: 2)
        try update.run()
        return .done([], retries: row.command.retries)
    }

    func end(
        _ id: CommandID, claim: Int, _ result: ExecutionResult, now: Timestamp
    ) throws(StoreError) -> ExecutionOutcome {
        let cached = cachedClaims.removeValue(forKey: id)
        if let cached, cached.claim == claim, case .success(let body) = result,
            let outcome = try finish(id, cached, body: body, now: now)
        {
            return outcome
        }
        guard var row = try find(id),
            let transitions = row.end(claim: claim, result, now: now, chance: .random(in: 0..<1), &changes)
        else { return .replaced }
        try save(row)
        if let body = result.storedResult { try saveResult(body, of: row.command.turn) }
        return .done(transitions, retries: row.command.retries)
    }

    /// Ends a command as a success without reading its row.
    /// - Returns: nil where the row is not as its claim left it.
    private func finish(
        _ id: CommandID, _ cached: CachedClaim, body: [UInt8]?, now: Timestamp
    ) throws(StoreError) -> ExecutionOutcome? {
        let finish = try statement(.finishCached)
        finish.bind(cached.turn, at: 1)
        finish.bind(changes.newestSeq + 1, at: 2)
        finish.bind(now, at: 3)
        finish.bind(cached.claim, at: 4)
        finish.bind(cached.qos, at: 5)
        finish.bind(cached.newestSeq, at: 6)
        finish.bind((cached.batch == nil ? [] : CommandRelations.batchMember).rawValue, at: 7)
        try finish.run()
        guard changedRows == 1 else { return nil }
        changes.addToCount(-1, .sent, cached.qos)
        changes.addToCount(1, .success, cached.qos)
        if let batch = cached.batch { changes.count(.init(ended: 1), of: batch, at: now) }
        let transition = changes.record(
            id, .success, at: now, seat: cached.seat, claim: cached.claim, reason: nil, previous: cached.newestSeq)
        if let body { try saveResult(body, of: cached.turn) }
        return .done([transition], retries: cached.retries)
    }

    private func saveResult(_ body: [UInt8], of turn: Int64) throws(StoreError) {
        let update = try statement(.setResult)
        update.bind(turn, at: 1)
        update.bind(body, at: 2)
        try update.run()
    }

    /// Writes the columns that a claim changes. The other columns must be as they were read.
    private func saveClaim(_ row: StoredCommand) throws(StoreError) {
        let save = try statement(.saveClaim)
        save.bind(row.command.turn, at: 1)
        save.bind(row.command.status, at: 2)
        save.bind(row.command.claim, at: 3)
        save.bind(row.command.seat, at: 4)
        save.bind(row.epoch, at: 5)
        save.bind(row.newestSeq, at: 6)
        save.bind(row.command.updatedAt, at: 7)
        try save.run()
    }

    /// Caches a row that `finishCached` can end: all that a success would change is what that query writes.
    private func cacheClaim(_ row: StoredCommand) {
        let command = row.command
        // `finishCached` leaves the unique key alone, so that it touches no index for it.
        let givesKeyUp = command.uniqueKey != nil && command.uniqueFor.isGivenUp(in: .success)
        guard command.status == .sent,
            row.relations.isEmpty || row.relations == .batchMember, command.reason == nil, row.openDeadline == nil,
            !command.suspect, !givesKeyUp,
            let seat = command.seat
        else { return }
        if cachedClaims.count >= Self.maxCachedClaims { cachedClaims.removeAll(keepingCapacity: true) }
        cachedClaims[row.id] = CachedClaim(
            turn: command.turn, claim: command.claim, qos: command.qos, retries: command.retries,
            newestSeq: row.newestSeq, seat: seat, batch: command.batch)
    }
}
