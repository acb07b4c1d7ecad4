package import Commands

extension SQLiteStore {
    package func cancel(_ id: CommandID, ifNewest newest: Int64?, reason: String) throws(StoreError) -> CancelOutcome {
        let (outcome, others) = try change(id) { row, connection throws(StoreError) in
            guard row.isUnchanged(since: newest) else { return (CancelOutcome.outdated, false) }
            var effects = Effects()
            switch row.cancelOrPutAway(reason: reason, now: clock.now(), &connection.changes) {
            case .cancelled(let transition):
                effects.events = [self.event(row, transition)]
                return (CancelOutcome.cancelled(effects), true)
            case .requested:
                if row.command.status.isClaimed { effects.requests = [row.claimed] }
                return (.requested(effects), true)
            case .ended: return (.ended(row.command.status), false)
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
        let (own, others) = try self.shard(shard).change(timeout: WriteTimeout.background) {
            connection throws(StoreError) in
            var effects = Effects()
            for id in ids {
                guard var row = try connection.find(id) else { continue }
                switch row.cancel(reason: reason, now: now, &connection.changes) {
                case .cancelled(let transition): effects.events.append(self.event(row, transition))
                case .requested: if row.command.status.isClaimed { effects.requests.append(row.claimed) }
                case .ended: continue
                }
                try connection.save(row)
            }
            return effects
        }
        return own.followed(by: others)
    }

    package func retry(_ id: CommandID, ifNewest newest: Int64?, by actor: String) throws(StoreError) -> Effects? {
        let now = clock.now()
        let (own, others) = try change(id) { row, connection throws(StoreError) in
            guard row.isUnchanged(since: newest) else { return (nil as Effects?, false) }
            let hadKey = !row.keyIsFree
            var rows = connection
            let isBlocked = try RetryCheck.mustWait(row, &rows)
            guard let transition = row.retry(by: actor, isBlocked: isBlocked, now: now, &connection.changes) else {
                return (nil as Effects?, false)
            }
            if !hadKey { try connection.reclaimKey(of: row, at: now) }
            try connection.dropResult(of: row)
            try connection.dropLeftover(of: row.command)
            return (self.effects(row, transition), true)
        }
        return own?.followed(by: others)
    }

    package func resolve(
        _ id: CommandID, ifNewest newest: Int64?, as status: CommandStatus, by actor: String
    ) throws(StoreError) -> Effects? {
        let (own, others) = try change(id) { row, connection throws(StoreError) in
            guard row.isUnchanged(since: newest),
                let transition = row.resolve(as: status, by: actor, now: clock.now(), &connection.changes)
            else { return (nil as Effects?, false) }
            if status == .success { try connection.recordLeftover(of: row.command) }
            return (self.effects(row, transition), true)
        }
        return own?.followed(by: others)
    }

    package func requalify(_ id: CommandID, ifNewest newest: Int64?, qos: QualityOfService) throws(StoreError) -> Bool {
        try shard(of: id).write { connection throws(StoreError) in
            guard var row = try connection.find(id), row.isUnchanged(since: newest),
                row.requalify(qos, now: clock.now(), &connection.changes)
            else { return false }
            try connection.save(row)
            return true
        }
    }

    /// Changes one command in a transaction of its own.
    /// - Parameter body: returns a value, and whether the row is to be saved.
    /// - Returns: the value, and the effects on other commands.
    private func change<Value: Sendable>(
        _ id: CommandID, _ body: (inout StoredCommand, Connection) throws(StoreError) -> (Value, Bool)
    ) throws(StoreError) -> (Value, Effects) {
        try shard(of: id).change { connection throws(StoreError) in
            guard var row = try connection.find(id) else { throw StoreError.noCommand(id) }
            let (value, isChanged) = try body(&row, connection)
            if isChanged { try connection.save(row) }
            return value
        }
    }

    private func effects(_ row: StoredCommand, _ transition: Transition) -> Effects {
        var effects = Effects()
        effects.events = [event(row, transition)]
        if row.isReady { effects.ready = [row.ready] }
        return effects
    }

    private func event(_ row: StoredCommand, _ transition: Transition) -> StatusEvent {
        row.event(transition, shard: row.id.shard(of: shardCount))
    }
}

extension Connection {
    /// Takes back the unique key that a command gave up.
    /// - Throws: `.conflict` where another command holds the key.
    fileprivate func reclaimKey(of row: StoredCommand, at now: Timestamp) throws(StoreError) {
        guard let unique = row.unique, let holder = try holder(of: unique, at: now) else { return }
        throw holder.conflict(over: unique.key)
    }

    fileprivate func dropResult(of row: StoredCommand) throws(StoreError) {
        try statement(.deleteResult, row.command.turn).run()
    }
}
