package import Commands

extension PostgreSQLStore {
    package func cancel(_ id: CommandID, ifNewest newest: Int64?, reason: String) throws(StoreError) -> CancelOutcome {
        let now = clock.now()
        let (outcome, others) = try change(id) { row, shard throws(StoreError) in
            guard row.isUnchanged(since: newest) else { return CancelOutcome.outdated }
            var effects = Effects()
            switch row.cancelOrPutAway(reason: reason, now: now, &shard.changes) {
            case .cancelled(let transition):
                effects.events = [row.event(transition, shard: shard.number)]
                shard.save(row)
                return .cancelled(effects)
            case .requested:
                if row.command.status.isClaimed { effects.requests = [row.claimed] }
                shard.save(row)
                return .requested(effects)
            case .ended: return .ended(row.command.status)
            }
        }
        switch outcome {
        case .cancelled(let effects): return .cancelled(effects.followed(by: others))
        case .requested(let effects): return .requested(effects.followed(by: others))
        case .ended, .outdated: return outcome
        }
    }

    package func cancel(_ ids: [CommandID], shard: Int, reason: String) throws(StoreError) -> Effects {
        let now = clock.now()
        let (own, others) = try change(shard: shard, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            try shard.load(ids)
            var effects = Effects()
            for id in ids {
                guard var row = try shard.command(id) else { continue }
                effects.append(shard.cancel(&row, reason: reason, now: now))
            }
            return effects
        }
        return own.followed(by: others)
    }

    private static let removeResult = PostgreSQLStatement("remove-result", "DELETE FROM result WHERE id = $1")

    package func retry(_ id: CommandID, ifNewest newest: Int64?, by actor: String) throws(StoreError) -> Effects? {
        let now = clock.now()
        let (own, others) = try change(id) { row, shard throws(StoreError) -> Effects? in
            guard row.isUnchanged(since: newest) else { return nil }
            let hadKey = !row.keyIsFree
            var rows = shard
            let isBlocked = try RetryCheck.mustWait(row, &rows)
            guard let transition = row.retry(by: actor, isBlocked: isBlocked, now: now, &shard.changes) else {
                return nil
            }
            if !hadKey, let unique = row.unique, let holder = try shard.holder(of: unique, at: now) {
                throw holder.conflict(over: unique.key)
            }
            shard.save(row)
            try shard.transaction.write(Self.removeResult, id)
            return shard.effects(row, transition)
        }
        return own?.followed(by: others)
    }

    package func resolve(
        _ id: CommandID, ifNewest newest: Int64?, as status: CommandStatus, by actor: String
    ) throws(StoreError) -> Effects? {
        let now = clock.now()
        let (own, others) = try change(id) { row, shard throws(StoreError) -> Effects? in
            guard row.isUnchanged(since: newest),
                let transition = row.resolve(as: status, by: actor, now: now, &shard.changes)
            else { return nil }
            shard.save(row)
            if status == .success { shard.recordLeftover(of: row.command) }
            return shard.effects(row, transition)
        }
        return own?.followed(by: others)
    }

    package func requalify(_ id: CommandID, ifNewest newest: Int64?, qos: QualityOfService) throws(StoreError) -> Bool {
        let now = clock.now()
        return try change(shard: id.shard(of: shardCount)) { shard throws(StoreError) in
            guard var row = try shard.command(id), row.isUnchanged(since: newest),
                row.requalify(qos, now: now, &shard.changes)
            else { return false }
            shard.save(row)
            return true
        }.0
    }

    /// Changes one command in a transaction of its own.
    /// - Returns: the value of `body`, and the effects on other commands.
    private func change<Value>(
        _ id: CommandID, _ body: (inout StoredCommand, PostgreSQLShard) throws(StoreError) -> Value
    ) throws(StoreError) -> (Value, Effects) {
        var preload = PostgreSQLChange.Preload()
        preload.ids = [id]
        let number = id.shard(of: shardCount)
        return try change([number], loading: preload) { change throws(StoreError) in
            let shard = try change.shard(number)
            guard var row = try shard.command(id) else { throw StoreError.noCommand(id) }
            return try body(&row, shard)
        }
    }
}

extension PostgreSQLShard {
    /// Of a transition that a person has asked for.
    fileprivate func effects(_ row: StoredCommand, _ transition: Transition) -> Effects {
        var effects = Effects()
        effects.events = [row.event(transition, shard: number)]
        if row.isReady { effects.ready = [row.ready] }
        return effects
    }
}
