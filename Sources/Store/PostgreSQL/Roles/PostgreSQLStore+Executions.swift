internal import Commands

extension PostgreSQLStore {
    private static let openSession = PostgreSQLStatement(
        "open-session",
        """
        INSERT INTO session(seat, epoch, pid, start_time, boot_id, dead) VALUES ($1, $2, $3, $4, $5, false)
        ON CONFLICT (seat, epoch) DO UPDATE SET pid = excluded.pid, start_time = excluded.start_time,
            boot_id = excluded.boot_id
        """)
    private static let closeSession = PostgreSQLStatement(
        "close-session",
        """
        DELETE FROM session WHERE seat = $1 AND epoch = $2
        AND NOT EXISTS (SELECT 1 FROM running r WHERE r.seat = $1 AND r.epoch = $2)
        """)
    private static let sessions = PostgreSQLStatement(
        "sessions", "SELECT seat, epoch, pid, start_time, boot_id FROM session")
    private static let markDead = PostgreSQLStatement(
        "mark-dead", "UPDATE session SET dead = true WHERE seat = $1 AND epoch = $2 AND NOT dead")
    private static let removeSession = PostgreSQLStatement(
        "remove-session", "DELETE FROM session WHERE seat = $1 AND epoch = $2")
    private static let runningOf = PostgreSQLStatement(
        "running-of", "SELECT id FROM running WHERE seat = $1 AND epoch = $2 ORDER BY shard, turn")

    /// A worker has one session for all shards.
    package func open(_ session: Session, shard: Int) throws(StoreError) {
        try check(shard)
        try changeSession { transaction throws(StoreError) in
            try transaction.write(
                Self.openSession, session.seat, session.epoch, Int64(session.pid), session.startTime, session.bootID)
        }
    }

    package func close(seat: Int, epoch: Int64) throws(StoreError) {
        try changeSession { transaction throws(StoreError) in
            try transaction.write(Self.closeSession, seat, epoch)
        }
    }

    /// As a change of a shard, so that a host that has lost the store changes no session either.
    private func changeSession(_ body: (PostgreSQLTransaction) throws(StoreError) -> Void) throws(StoreError) {
        try untilKnown { _ throws(StoreError) in
            _ = try change(0..<1, timeout: WriteTimeout.foreground) { change throws(StoreError) in
                try body(change.transaction)
            }
        }
    }

    package func sessionReading() throws(StoreError) -> SessionReading {
        let sessions = try read { transaction throws(StoreError) in
            try transaction.read(Self.sessions).rows { row in
                Session(
                    seat: row[0], epoch: row[1], pid: Int32(truncatingIfNeeded: row[2] as Int64), startTime: row[3],
                    bootID: row[4])
            }
        }
        return SessionReading(sessions, isComplete: true)
    }

    package func apply(
        _ writes: () -> [ExecutionWrite], group: CommitGroup, seat: Int, epoch: Int64, _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome {
        try check(group)
        let writes = writes()
        let now = clock.now()
        var preload = PostgreSQLChange.Preload()
        let claims = Set(writes.filter(\.isClaim).map(\.id))
        (preload.ids, preload.bodies) = (Array(claims), Array(claims))
        preload.claimed = Array(Set(writes.map(\.id)).subtracting(claims))
        preload.session = (seat, epoch)
        let shards = Set(writes.map { $0.id.shard(of: shardCount) })
        let (outcomes, effects) = try change(shards, loading: preload, timeout: attempt.timeout) {
            change throws(StoreError) in
            var outcomes: [ExecutionOutcome] = []
            for write in writes {
                let shard = try change.shard(write.id.shard(of: shardCount))
                if attempt.isRepetition,
                    let outcome = try change.outcome(ofMade: write, of: writes, shard, seat: seat, epoch: epoch)
                {
                    outcomes.append(outcome)
                } else {
                    outcomes.append(try change.apply(write, shard, seat: seat, epoch: epoch, now: now))
                }
            }
            return outcomes
        }
        return CommitOutcome(outcomes, effects)
    }

    private static let shardsWithCascades = PostgreSQLStatement(
        "shards-with-cascades",
        """
        SELECT w.shard FROM unnest($1::int8[]::int2[]) w(shard)
        JOIN LATERAL (SELECT 1 FROM cascade c WHERE c.shard = w.shard LIMIT 1) c ON true
        """)

    /// One round trip where nothing is left.
    package func settle(_ shards: [Int], limit: Int, each: (Int, Result<Effects, StoreError>) -> Void) {
        let left = Result { () throws(StoreError) in
            try read { transaction throws(StoreError) in
                Set(try transaction.read(Self.shardsWithCascades, shards).rows { row in row[0] as Int })
            }
        }
        for shard in shards {
            each(
                shard,
                left.flatMap { left in
                    guard left.contains(shard) else { return .success(Effects()) }
                    return Result { () throws(StoreError) in try settle(shard: shard, limit: limit) }
                })
        }
    }

    package func settle(shard: Int, limit: Int) throws(StoreError) -> Effects {
        let isLeft = try snapshot(shard: shard) { shard throws(StoreError) in try shard.cascade() != nil }
        guard isLeft else { return Effects() }
        let now = clock.now()
        let (own, others) = try change(shard: shard, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            var settlements = Settlements(shard, shard: shard.number, now: now, limit: limit)
            try settlements.runPostponed()
            return settlements.effects
        }
        return own.followed(by: others)
    }

    /// All commands of the worker are released in one transaction, so that no interruption leaves a part of a decision.
    package func reap(
        seat: Int, epoch: Int64, _ verdict: DeathVerdict, released: (Effects) -> Void
    ) throws(StoreError) {
        let now = clock.now()
        // From here on no claim of the worker is committed: one that has read the session before holds the lock of its shard,
        // for which the transaction below waits.
        try changeSession { transaction throws(StoreError) in try transaction.write(Self.markDead, seat, epoch) }
        let (own, others) = try change(0..<shardCount, timeout: WriteTimeout.foreground) { change throws(StoreError) in
            let ids = try change.transaction.read(Self.runningOf, seat, epoch).rows { row in row[0] as CommandID }
            for (shard, ids) in Dictionary(grouping: ids, by: { $0.shard(of: shardCount) }) {
                try change.shard(shard).load(ids)
            }
            var rows: [(PostgreSQLShard, StoredCommand)] = []
            for id in ids {
                let shard = try change.shard(id.shard(of: shardCount))
                if let row = try shard.command(id) { rows.append((shard, row)) }
            }
            let suspects = rows.count { $0.1.command.suspect && verdict.wasExecuting($0.1.id) }
            var effects = Effects()
            for (shard, found) in rows {
                var row = found
                let transitions = row.release(
                    blame: verdict.blame(row.command, suspects: suspects), started: verdict.hadStarted(row.id),
                    reason: verdict.reason, now: now, &shard.changes)
                shard.save(row)
                effects.events += transitions.map { row.event($0, shard: shard.number) }
                if row.isReady { effects.ready.append(row.ready) }
            }
            try change.transaction.write(Self.removeSession, seat, epoch)
            return effects
        }
        released(own.followed(by: others))
    }
}

extension ExecutionWrite {
    fileprivate var isClaim: Bool { if case .claim = self { true } else { false } }
}

/// The writes of a worker, inside a transaction.
extension PostgreSQLChange {
    private static let saveResult = PostgreSQLStatement(
        "save-result",
        "INSERT INTO result(id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = excluded.body")
    private static let saveCheckpoint = PostgreSQLStatement(
        "save-checkpoint",
        "INSERT INTO kept(id, state) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET state = excluded.state")

    fileprivate func apply(
        _ write: ExecutionWrite, _ shard: PostgreSQLShard, seat: Int, epoch: Int64, now: Timestamp
    ) throws(StoreError) -> ExecutionOutcome {
        guard var row = try shard.command(write.id) else { return write.isClaim ? .refused : .replaced }
        let command = row.command
        // A server that was put back gives numbers of claims again, so that the number alone does not name an execution.
        if !write.isClaim, row.epoch != epoch || command.seat != seat { return .replaced }
        switch write {
        case .claim(let id, let turn, let sent):
            guard hasSession, turn == 0 || turn == command.turn, let body = bodies[id] else { return .refused }
            let isPast = command.deadline.map { $0 <= now } ?? false
            let isHeld = isPast ? try shard.isClockHeld() : false
            guard
                let transitions = row.claim(
                    seat: seat, epoch: epoch, sent: sent, now: now, isClockHeld: isHeld, &shard.changes)
            else { return .refused }
            shard.save(row)
            return .claimed(row.command, payload: body.payload, checkpoint: body.checkpoint, transitions)
        case .sent(_, let claim):
            switch row.send(claim: claim, now: now, &shard.changes) {
            case .replaced: return .replaced
            case .refused: return .refused
            case .sent(let transition):
                shard.save(row)
                return .done([transition], retries: command.retries)
            }
        case .offset(_, let claim, let offset, let total):
            guard command.claim == claim, command.status.isClaimed else { return .replaced }
            row.command.offset = max(offset, 0)
            row.command.total = max(total, 0)
            row.command.updatedAt = now
            shard.save(row)
            return .done([], retries: command.retries)
        case .saveCheckpoint(let id, let claim, let state):
            guard command.claim == claim, command.status.isClaimed else { return .replaced }
            try transaction.write(Self.saveCheckpoint, id, state)
            bodies[id]?.checkpoint = state
            return .done([], retries: command.retries)
        case .end(let id, let claim, let result):
            guard
                let transitions = row.end(
                    claim: claim, result, now: now, chance: .random(in: 0..<1), &shard.changes)
            else { return .replaced }
            shard.save(row)
            if let body = result.storedResult { try transaction.write(Self.saveResult, id, body) }
            return .done(transitions, retries: row.command.retries)
        }
    }

    /// The outcome of a repeated write that was made the first time; nil where it is to be made now.
    fileprivate func outcome(
        ofMade write: ExecutionWrite, of commit: [ExecutionWrite], _ shard: PostgreSQLShard, seat: Int, epoch: Int64
    ) throws(StoreError) -> ExecutionOutcome? {
        guard let row = try shard.command(write.id) else { return nil }
        let timeline = try transaction.timeline(write.id, shard: shard.number, before: nil, limit: .max)
        guard
            let made = row.transitions(madeBy: write, of: commit, seat: seat, epoch: epoch, in: timeline)
        else { return nil }
        guard case .claim(let id, _, _) = write else { return .done(made, retries: row.command.retries) }
        guard let body = bodies[id] else { return nil }
        return .claimed(row.command, payload: body.payload, checkpoint: body.checkpoint, made)
    }
}
