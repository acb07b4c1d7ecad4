internal import Commands

/// What a worker does to commands, inside a transaction. The hottest code of the store: three transitions of a command
/// must cost no more than 20 µs.
extension Connection {
    func hasSession(seat: Int, epoch: Int64) throws(StoreError) -> Bool {
        let statement = try statement(.hasSession)
        statement.bind(seat, at: 1)
        statement.bind(epoch, at: 2)
        let isThere = try statement.step()
        statement.reset()
        return isThere
    }

    func inFlight(seat: Int, epoch: Int64) throws(StoreError) -> [StoredCommand] {
        let statement = try statement(.inFlightOf)
        statement.bind(seat, at: 1)
        statement.bind(epoch, at: 2)
        return try rows(statement)
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
        guard let transitions = row.claim(seat: seat, epoch: epoch, sent: sent, now: now, &journal) else {
            return .refused
        }
        let payload = select.bytes(Query.columnCount)
        let checkpoint = select.optionalBytes(Query.columnCount + 1)
        // A read cursor left open would make the update slower.
        select.reset()
        if wasHeldBack { try save(row) } else { try hold(row) }
        remember(row)
        return .claimed(row.command, payload: payload, checkpoint: checkpoint, transitions)
    }

    func send(_ id: CommandID, claim: Int, now: Timestamp) throws(StoreError) -> ExecutionOutcome {
        guard var row = try find(id) else { return .replaced }
        switch row.send(claim: claim, now: now, &journal) {
        case .replaced: return .replaced
        case .refused: return .refused
        case .sent(let transition):
            try hold(row)
            remember(row)
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

    func end(_ id: CommandID, claim: Int, _ ending: ExecutionResult, now: Timestamp) throws(StoreError)
        -> ExecutionOutcome
    {
        let memory = remembered.removeValue(forKey: id)
        if let memory, memory.claim == claim, case .success(let result) = ending,
            let outcome = try finish(id, memory, result: result, now: now)
        {
            return outcome
        }
        guard var row = try find(id),
            let transitions = row.end(claim: claim, ending, now: now, chance: .random(in: 0..<1), &journal)
        else { return .replaced }
        try save(row)
        if case .success(let result?) = ending { try saveResult(result, of: row.command.turn) }
        return .done(transitions, retries: row.command.retries)
    }

    /// Ends a command as a success without looking at it. - Returns: nil where its row is not as its claim left it.
    private func finish(
        _ id: CommandID, _ memory: Remembered, result: [UInt8]?, now: Timestamp
    ) throws(StoreError) -> ExecutionOutcome? {
        let finish = try statement(.finishRemembered)
        finish.bind(memory.turn, at: 1)
        finish.bind(journal.seq + 1, at: 2)
        finish.bind(now, at: 3)
        finish.bind(memory.claim, at: 4)
        finish.bind(memory.qos, at: 5)
        finish.bind(memory.last, at: 6)
        try finish.run()
        guard changes == 1 else { return nil }
        journal.add(-1, to: .sent, memory.qos)
        journal.add(1, to: .success, memory.qos)
        let transition = journal.record(
            id, .success, at: now, seat: memory.seat, claim: memory.claim, reason: nil, previous: memory.last)
        if let result { try saveResult(result, of: memory.turn) }
        return .done([transition], retries: memory.retries)
    }

    private func saveResult(_ result: [UInt8], of turn: Int64) throws(StoreError) {
        let update = try statement(.setResult)
        update.bind(turn, at: 1)
        update.bind(result, at: 2)
        try update.run()
    }

    /// Writes what a claim changes, where nothing else has.
    private func hold(_ row: StoredCommand) throws(StoreError) {
        let hold = try statement(.hold)
        hold.bind(row.command.turn, at: 1)
        hold.bind(row.command.status, at: 2)
        hold.bind(row.command.claim, at: 3)
        hold.bind(row.command.seat, at: 4)
        hold.bind(row.epoch, at: 5)
        hold.bind(row.last, at: 6)
        hold.bind(row.command.updatedAt, at: 7)
        try hold.run()
    }

    private func remember(_ row: StoredCommand) {
        let command = row.command
        // `finishRemembered` leaves the unique key alone, so that it touches no index for it.
        let givesKeyUp = command.uniqueKey != nil && command.uniqueFor.isGivenUp(in: .success)
        guard command.status == .sent, command.reason == nil, row.openDeadline == nil, !command.suspect, !givesKeyUp,
            let seat = command.seat
        else { return }
        if remembered.count >= Self.rememberedLimit { remembered.removeAll(keepingCapacity: true) }
        remembered[row.id] = Remembered(
            turn: command.turn, claim: command.claim, qos: command.qos, retries: command.retries, last: row.last,
            seat: seat)
    }
}
