package import Commands

extension MemoryStore {
    package func open(_ session: Session, shard: Int) throws(StoreError) {
        try withShard(shard) { shard in
            shard.sessions.removeAll { $0.seat == session.seat && $0.epoch == session.epoch }
            shard.sessions.append(session)
        }
    }

    package func close(seat: Int, epoch: Int64) {
        withState { state in
            for index in state.shards.indices where state.shards[index].claimed(seat: seat, epoch: epoch).isEmpty {
                state.shards[index].sessions.removeAll { $0.seat == seat && $0.epoch == epoch }
            }
        }
    }

    package func sessionReading() -> SessionReading {
        withState { SessionReading($0.shards.flatMap(\.sessions), isComplete: true) }
    }

    package func apply(
        _ writes: () -> [ExecutionWrite], group: CommitGroup, seat: Int, epoch: Int64, _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome {
        try withShard(group.onlyShard()) { shard in
            let (writes, now) = (writes(), clock.now())
            let outcomes = shard.transaction { shard in
                writes.map { write in
                    if attempt.isRepetition,
                        let outcome = shard.outcome(ofMade: write, of: writes, seat: seat, epoch: epoch)
                    {
                        return outcome
                    }
                    return switch write {
                    case .claim(let id, let turn, let sent):
                        shard.claim(id, turn: turn, sent: sent, seat: seat, epoch: epoch, now: now)
                    case .sent(let id, let claim): shard.send(id, claim: claim, now: now)
                    case .offset(let id, let claim, let offset, let total):
                        shard.progress(id, claim: claim, offset: offset, total: total, now: now)
                    case .saveCheckpoint(let id, let claim, let state): shard.saveCheckpoint(id, claim: claim, state)
                    case .end(let id, let claim, let result): shard.end(id, claim: claim, result, now: now)
                    }
                }
            }
            return CommitOutcome(outcomes, shard.takeEffects())
        }
    }

    package func reap(
        seat: Int, epoch: Int64, _ verdict: DeathVerdict, released: (Effects) -> Void
    ) {
        let now = clock.now()
        let effects = withState { state in
            let suspects = state.shards.reduce(0) { sum, shard in
                sum
                    + shard.claimed(seat: seat, epoch: epoch).count {
                        $0.command.suspect && verdict.wasExecuting($0.id)
                    }
            }
            var effects = Effects()
            for index in state.shards.indices {
                for row in state.shards[index].claimed(seat: seat, epoch: epoch) {
                    let changed = state.shards[index].change(row.id) { row, changes in
                        row.release(
                            blame: verdict.blame(row.command, suspects: suspects),
                            started: verdict.hadStarted(row.id), reason: verdict.reason, now: now, &changes
                        ).map { row.event($0, shard: index) }
                    }
                    effects.events += changed ?? []
                    if let left = state.shards[index].rows[row.id], left.isReady { effects.ready.append(left.ready) }
                }
                effects.append(state.shards[index].takeEffects())
                state.shards[index].sessions.removeAll { $0.seat == seat && $0.epoch == epoch }
            }
            return effects
        }
        released(effects)
    }

    // MARK: Requests of people

    package func cancel(_ id: CommandID, ifNewest newest: Int64?, reason: String) throws(StoreError) -> CancelOutcome {
        let number = id.shard(of: shardCount)
        return try withShard(number) { shard throws(StoreError) in
            if let row = shard.rows[id], !row.isUnchanged(since: newest) { return .outdated }
            guard let outcome = shard.cancel(id, reason: reason, putsAway: true, now: clock.now()) else {
                throw StoreError.noCommand(id)
            }
            let others = shard.takeEffects()
            switch outcome {
            case .cancelled(let effects): return .cancelled(effects.followed(by: others))
            case .requested(let effects): return .requested(effects.followed(by: others))
            case .ended, .outdated: return outcome
            }
        }
    }

    package func cancel(_ ids: [CommandID], shard: Int, reason: String) throws(StoreError) -> Effects {
        let now = clock.now()
        return try withShard(shard) { shard in
            var effects = Effects()
            for id in ids { effects.append(shard.cancel(id, reason: reason, now: now)?.effects ?? Effects()) }
            effects.append(shard.takeEffects())
            return effects
        }
    }

    package func retry(_ id: CommandID, ifNewest newest: Int64?, by actor: String) throws(StoreError) -> Effects? {
        let now = clock.now()
        let number = id.shard(of: shardCount)
        return try withShard(number) { shard throws(StoreError) in
            guard let row = shard.rows[id] else { throw StoreError.noCommand(id) }
            guard row.isUnchanged(since: newest) else { return nil }
            var renewed = row
            var changes = TransactionChanges()
            if row.keyIsFree, renewed.retry(by: actor, now: now, &changes) != nil, let unique = renewed.unique,
                let holder = shard.holder(of: unique, at: now)
            {
                throw holder.conflict(over: unique.key)
            }
            let isBlocked = try RetryCheck.mustWait(row, &shard)
            let event = shard.change(id) { row, changes in
                row.retry(by: actor, isBlocked: isBlocked, now: now, &changes).map { row.event($0, shard: number) }
            }
            guard let event = event ?? nil else { return nil }
            shard.results[id] = nil
            return shard.effects(event)
        }
    }

    package func resolve(
        _ id: CommandID, ifNewest newest: Int64?, as status: CommandStatus, by actor: String
    ) throws(StoreError) -> Effects? {
        let number = id.shard(of: shardCount)
        return try withShard(number) { shard throws(StoreError) in
            guard let row = shard.rows[id] else { throw StoreError.noCommand(id) }
            guard row.isUnchanged(since: newest) else { return nil }
            let event = shard.change(id) { row, changes in
                row.resolve(as: status, by: actor, now: clock.now(), &changes).map { row.event($0, shard: number) }
            }
            guard let event = event ?? nil else { return nil }
            if status == .success, let command = shard.rows[id]?.command { shard.recordLeftover(of: command) }
            return shard.effects(event)
        }
    }

    package func requalify(_ id: CommandID, ifNewest newest: Int64?, qos: QualityOfService) throws(StoreError) -> Bool {
        try withShard(id.shard(of: shardCount)) { shard in
            shard.change(id) { $0.isUnchanged(since: newest) && $0.requalify(qos, now: clock.now(), &$1) } ?? false
        }
    }
}

extension MemoryShard {
    /// Nil where there is no such command.
    /// - Parameter putsAway: cancels also a command that was given up.
    mutating func cancel(
        _ id: CommandID, reason: String, putsAway: Bool = false, now: Timestamp
    ) -> CancelOutcome? {
        let number = number
        return change(id) { row, changes -> CancelOutcome in
            var effects = Effects()
            let outcome =
                putsAway
                ? row.cancelOrPutAway(reason: reason, now: now, &changes)
                : row.cancel(reason: reason, now: now, &changes)
            switch outcome {
            case .cancelled(let transition):
                effects.events = [row.event(transition, shard: number)]
                return .cancelled(effects)
            case .requested:
                if row.command.status.isClaimed { effects.requests = [row.claimed] }
                return .requested(effects)
            case .ended: return .ended(row.command.status)
            }
        }
    }

    /// Of a transition, with those on other commands.
    fileprivate mutating func effects(_ event: StatusEvent) -> Effects {
        var effects = Effects()
        effects.events = [event]
        if let row = rows[event.transition.id], row.isReady { effects.ready = [row.ready] }
        return effects.followed(by: takeEffects())
    }

    fileprivate mutating func claim(
        _ id: CommandID, turn: Int64, sent: Bool, seat: Int, epoch: Int64, now: Timestamp
    ) -> ExecutionOutcome {
        guard sessions.contains(where: { $0.seat == seat && $0.epoch == epoch }), let payload = payloads[id] else {
            return .refused
        }
        let (checkpoint, isHeld) = (checkpoints[id], isClockHeld)
        return change(id) { row, changes -> ExecutionOutcome in
            guard turn == 0 || row.command.turn == turn,
                let transitions = row.claim(
                    seat: seat, epoch: epoch, sent: sent, now: now, isClockHeld: isHeld, &changes)
            else { return .refused }
            return .claimed(row.command, payload: payload, checkpoint: checkpoint, transitions)
        } ?? .refused
    }

    /// The outcome of a repeated write that was made the first time; nil where it is to be made now.
    fileprivate func outcome(
        ofMade write: ExecutionWrite, of commit: [ExecutionWrite], seat: Int, epoch: Int64
    ) -> ExecutionOutcome? {
        guard let row = rows[write.id],
            let made = row.transitions(
                madeBy: write, of: commit, seat: seat, epoch: epoch, in: transitions.filter { $0.id == write.id })
        else { return nil }
        guard case .claim = write else { return .done(made, retries: row.command.retries) }
        return .claimed(
            row.command, payload: payloads[write.id] ?? [], checkpoint: checkpoints[write.id], made)
    }

    fileprivate mutating func send(_ id: CommandID, claim: Int, now: Timestamp) -> ExecutionOutcome {
        change(id) { row, changes -> ExecutionOutcome in
            switch row.send(claim: claim, now: now, &changes) {
            case .replaced: .replaced
            case .refused: .refused
            case .sent(let transition): .done([transition], retries: row.command.retries)
            }
        } ?? .replaced
    }

    fileprivate mutating func progress(
        _ id: CommandID, claim: Int, offset: Int64, total: Int64, now: Timestamp
    ) -> ExecutionOutcome {
        change(id) { row, _ -> ExecutionOutcome in
            guard row.command.claim == claim, row.command.status.isClaimed else { return .replaced }
            row.command.offset = max(offset, 0)
            row.command.total = max(total, 0)
            row.command.updatedAt = now
            return .done([], retries: row.command.retries)
        } ?? .replaced
    }

    fileprivate mutating func saveCheckpoint(_ id: CommandID, claim: Int, _ state: [UInt8]) -> ExecutionOutcome {
        guard let command = rows[id]?.command, command.claim == claim, command.status.isClaimed else {
            return .replaced
        }
        checkpoints[id] = state
        return .done([], retries: command.retries)
    }

    fileprivate mutating func end(
        _ id: CommandID, claim: Int, _ result: ExecutionResult, now: Timestamp
    ) -> ExecutionOutcome {
        let outcome = change(id) { row, changes -> ExecutionOutcome in
            guard let transitions = row.end(claim: claim, result, now: now, chance: .random(in: 0..<1), &changes) else {
                return .replaced
            }
            return .done(transitions, retries: row.command.retries)
        }
        if case .done? = outcome, let body = result.storedResult { results[id] = body }
        return outcome ?? .replaced
    }
}
