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

/// The statements of executions: claims, progress, ends, checkpoints and the sessions of workers.
extension Query {
    private static let claimedColumns = """
        c.id, c.status, c.type, c.qos, c.destination, c.seat, c.epoch, c.claim, c.retries, c.suspect, c.updated_at, \
        c.rate_limit
        """

    static let claimable = Query(
        "SELECT \(columns), p.body, p.kept FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.id = ?1")
    static let claimableByTurn = Query(
        "SELECT \(columns), p.body, p.kept FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.turn = ?1")
    /// The columns that a claim changes, where `not_before` is 0 already.
    static let saveClaim = Query(
        """
        UPDATE command SET status = ?2, claim = ?3, seat = ?4, epoch = ?5, last = ?6, updated_at = ?7
        WHERE turn = ?1
        """)
    static let progress = Query("UPDATE command SET offset = ?2, total = ?3, updated_at = ?4 WHERE turn = ?1")
    /// Ends a command without a read. The conditions compare the row with what its claim left; see ``CachedClaim``.
    static let finishCached = Query(
        """
        UPDATE command SET status = 4, last = ?2, updated_at = ?3, offset = total
        WHERE turn = ?1 AND status = 2 AND claim = ?4 AND qos = ?5 AND last = ?6 AND suspect = 0
        AND cancel_requested = 0 AND ifnull(relations, 0) = ?7
        """)
    static let inFlight = Query(
        """
        SELECT \(claimedColumns) FROM command c INDEXED BY command_in_flight
        WHERE c.status IN (1, 2) ORDER BY c.turn
        """)
    static let inFlightOf = Query(
        """
        SELECT \(columns) FROM command c INDEXED BY command_in_flight
        WHERE c.status IN (1, 2) AND c.seat = ?1 AND c.epoch = ?2 ORDER BY c.turn
        """)
    static let cancellationRequests = Query(
        """
        SELECT \(claimedColumns) FROM command c INDEXED BY command_in_flight
        WHERE c.status IN (1, 2) AND c.cancel_requested = 1 ORDER BY c.turn
        """)
    static let setCheckpoint = Query("UPDATE payload SET kept = ?2 WHERE turn = ?1")
    static let dropCheckpoint = Query("UPDATE payload SET kept = NULL WHERE turn = ?1")
    static let hasLeftover = Query("SELECT 1 FROM leftover WHERE due <= ?1 LIMIT 1")
    static let leftovers = Query(
        """
        SELECT \(columns), p.body, p.kept FROM leftover l CROSS JOIN command c ON c.turn = l.turn
        CROSS JOIN payload p ON p.turn = l.turn WHERE l.due <= ?1 ORDER BY l.due LIMIT ?2
        """)
    static let recordLeftover = Query(
        "INSERT OR REPLACE INTO leftover(turn, due) SELECT turn, ?2 FROM payload WHERE turn = ?1 AND length(kept) > 0")
    static let dropLeftover = Query("DELETE FROM leftover WHERE turn = ?1")
    static let hastenLeftover = Query("UPDATE leftover SET due = 0 WHERE turn = ?1")
    static let hasSession = Query("SELECT 1 FROM session WHERE seat = ?1 AND epoch = ?2")
    static let sessions = Query("SELECT seat, epoch, pid, start_time, boot_id FROM session")
    static let openSession = Query(
        "INSERT OR REPLACE INTO session(seat, epoch, pid, start_time, boot_id) VALUES (?1, ?2, ?3, ?4, ?5)")
    static let closeSession = Query(
        """
        DELETE FROM session WHERE seat = ?1 AND epoch = ?2 AND NOT EXISTS
        (SELECT 1 FROM command WHERE status IN (1, 2) AND seat = ?1 AND epoch = ?2)
        """)
    static let deleteSession = Query("DELETE FROM session WHERE seat = ?1 AND epoch = ?2")
}
