internal import Commands

extension SQLiteStore {
    package func open(_ session: Session, shard: Int) throws(StoreError) {
        try self.shard(shard).write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            try connection.statement(
                .openSession, session.seat, session.epoch, Int64(session.pid), session.startTime, session.bootID
            ).run()
        }
    }

    package func close(seat: Int, epoch: Int64) throws(StoreError) {
        for shard in shards {
            do throws(StoreError) {
                try ifUsable { () throws(StoreError) in
                    try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
                        try connection.statement(.closeSession, seat, epoch).run()
                    }
                }
            } catch {
                guard error.code == .busy else { throw error }
            }
        }
    }

    package func sessionReading() throws(StoreError) -> SessionReading {
        var sessions: [Session] = []
        var isComplete = true
        for shard in shards {
            let found = try ifUsable { () throws(StoreError) in
                try shard.use { connection throws(StoreError) in try connection.sessions() }
            }
            sessions += found ?? []
            isComplete = isComplete && found != nil
        }
        return SessionReading(sessions, isComplete: isComplete)
    }

    package func apply(
        _ writes: () -> [ExecutionWrite], group: CommitGroup, seat: Int, epoch: Int64, _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome {
        let shard = try self.shard(group.onlyShard())
        let (outcomes, effects) = try shard.change(timeout: attempt.timeout) { connection throws(StoreError) in
            let (writes, now) = (writes(), clock.now())
            var hasSession: Bool?
            var outcomes: [ExecutionOutcome] = []
            outcomes.reserveCapacity(writes.count)
            for write in writes {
                if attempt.isRepetition,
                    let outcome = try connection.outcome(ofMade: write, of: writes, seat: seat, epoch: epoch)
                {
                    outcomes.append(outcome)
                    continue
                }
                switch write {
                case .claim(let id, let turn, let sent):
                    if hasSession == nil { hasSession = try connection.hasSession(seat: seat, epoch: epoch) }
                    guard hasSession == true else {
                        outcomes.append(.refused)
                        continue
                    }
                    outcomes.append(
                        try connection.claim(id, turn: turn, sent: sent, seat: seat, epoch: epoch, now: now))
                case .sent(let id, let claim): outcomes.append(try connection.send(id, claim: claim, now: now))
                case .offset(let id, let claim, let offset, let total):
                    outcomes.append(
                        try connection.progress(id, claim: claim, offset: offset, total: total, now: now))
                case .saveCheckpoint(let id, let claim, let state):
                    outcomes.append(try connection.saveCheckpoint(id, claim: claim, state))
                case .end(let id, let claim, let result):
                    outcomes.append(try connection.end(id, claim: claim, result, now: now))
                }
            }
            return outcomes
        }
        return CommitOutcome(outcomes, effects)
    }

    /// The phase in which a shard is reaped, by what it has of the dead worker: only commands without a
    /// suspect; a suspect; nothing but the session row.
    ///
    /// The shard of the suspect comes late, so that a reap that was interrupted and is repeated still finds
    /// the suspect and decides alike.
    private enum ReapPhase: CaseIterable { case commands, suspect, session }

    package func reap(
        seat: Int, epoch: Int64, _ verdict: DeathVerdict, released: (Effects) -> Void
    ) throws(StoreError) {
        let now = clock.now()
        var found: [(shard: Shard, phase: ReapPhase)] = []
        var suspects = 0
        // The first error of a phase is thrown after the phase, so that it does not hold up the other shards.
        var problem: StoreError?
        for shard in shards {
            do throws(StoreError) {
                let reading = try ifUsable { () throws(StoreError) in
                    try shard.use { connection throws(StoreError) in
                        let rows = try connection.inFlight(seat: seat, epoch: epoch)
                        let suspects = rows.count { $0.command.suspect && verdict.wasExecuting($0.id) }
                        let phase: ReapPhase = suspects > 0 ? .suspect : rows.isEmpty ? .session : .commands
                        return (phase: phase, suspects: suspects)
                    }
                }
                if let reading {
                    found.append((shard, reading.phase))
                    suspects += reading.suspects
                }
            } catch {
                problem = problem ?? error
            }
        }
        // One shard after the other: eight at once slowed the commits of the other workers more than they gained (75 ms
        // instead of 61 from the kill to the next claim).
        for phase in ReapPhase.allCases {
            for (shard, found) in found where found == phase {
                do throws(StoreError) {
                    let done = try ifUsable { () throws(StoreError) in
                        try shard.reap(seat: seat, epoch: epoch, verdict, suspects: suspects, now: now)
                    }
                    if let done { released(done) }
                } catch {
                    problem = problem ?? error
                }
            }
            if let problem { throw problem }
        }
    }
}

extension Shard {
    /// Reaps one shard, in one transaction.
    fileprivate func reap(
        seat: Int, epoch: Int64, _ verdict: DeathVerdict, suspects: Int, now: Timestamp
    ) throws(StoreError) -> Effects {
        let (own, others) = try change(timeout: WriteTimeout.background) { connection throws(StoreError) in
            var effects = Effects()
            for var row in try connection.inFlight(seat: seat, epoch: epoch) {
                let transitions = row.release(
                    blame: verdict.blame(row.command, suspects: suspects), started: verdict.hadStarted(row.id),
                    reason: verdict.reason, now: now, &connection.changes)
                try connection.save(row)
                effects.events += transitions.map { row.event($0, shard: number) }
                if row.isReady { effects.ready.append(row.ready) }
            }
            try connection.statement(.deleteSession, seat, epoch).run()
            return effects
        }
        return own.followed(by: others)
    }
}

extension Connection {
    func sessions() throws(StoreError) -> [Session] {
        try statement(.sessions).rows(Session.init)
    }
}
