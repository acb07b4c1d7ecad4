package import Commands

extension SQLiteStore {
    package func ready(
        shard: Int, key: ReadyKey, afterTurn: Int64, limit: Int
    ) throws(StoreError) -> [ReadyCommand] {
        try self.shard(shard).use { connection throws(StoreError) in
            if key.limit != nil, !connection.hasLimits { return [] }
            let statement = try connection.statement(key.limit == nil ? .ready : .readyLimited)
            defer { statement.reset() }
            statement.bind(key.destination.text, at: 1)
            statement.bind(key.qos, at: 2)
            statement.bind(afterTurn, at: 3)
            statement.bind(max(limit, 0), at: 4)
            if let name = key.limit { statement.bind(name, at: 5) }
            var ready: [ReadyCommand] = []
            while try statement.step() {
                ready.append(
                    try ReadyCommand(statement, destination: key.destination, qos: key.qos, limit: key.limit))
            }
            return ready
        }
    }

    package func limitedKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> {
        try self.shard(shard).use { connection throws(StoreError) in
            var keys: Set<ReadyKey> = []
            if connection.hasLimits { try connection.addLimitedKeys(to: &keys) }
            return keys
        }
    }

    package func readyCounts(shard: Int) throws(StoreError) -> [String: Int] {
        try self.shard(shard).use { connection throws(StoreError) in
            guard connection.hasLimits else { return [:] }
            let statement = try connection.statement(.limitedCounts)
            defer { statement.reset() }
            var counts: [String: Int] = [:]
            while try statement.step() { counts[statement.text(0)] = statement.int(1) }
            return counts
        }
    }

    package func ready(shard: Int, ids: [CommandID]) throws(StoreError) -> [ReadyCommand] {
        try self.shard(shard).use { connection throws(StoreError) in
            let statement = try connection.statement(.readyByID)
            defer { statement.reset() }
            var ready: [ReadyCommand] = []
            for id in ids {
                statement.bind(id, at: 1)
                if try statement.step() {
                    let destination = connection.destination(statement, 7)
                    ready.append(
                        try ReadyCommand(
                            statement, destination: destination, qos: try statement.qos(8),
                            limit: statement.optionalText(9)))
                    statement.reset()
                }
            }
            return ready
        }
    }

    package func takeReadyAgain(shard: Int, limit: Int) throws(StoreError) -> [ReadyCommand] {
        let shard = try self.shard(shard)
        let isEmpty = try shard.use { connection throws(StoreError) in
            let look = try connection.statement(.hasReadyAgain)
            defer { look.reset() }
            return try !look.step()
        }
        if isEmpty { return [] }
        return try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            let statement = try connection.statement(.readyAgain)
            statement.bind(max(limit, 0), at: 1)
            var ready: [ReadyCommand] = []
            var last: Int64?
            while try statement.step() {
                last = statement.int64(2)
                if statement.isNull(0) { continue }
                let destination = connection.destination(statement, 7)
                ready.append(
                    try ReadyCommand(
                        statement, destination: destination, qos: try statement.qos(8),
                        limit: statement.optionalText(9)))
            }
            statement.reset()
            if let last {
                let drop = try connection.statement(.dropReadyAgain)
                drop.bind(last, at: 1)
                try drop.run()
            }
            return ready
        }
    }

    package func readyKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> {
        try self.shard(shard).use { connection throws(StoreError) in
            let statement = try connection.statement(.readyKeyAfter)
            var keys: Set<ReadyKey> = []
            // Before the first pair: no destination is less than the empty text, and no QoS is less than 0.
            var last = (destination: "", qos: -1)
            while true {
                statement.bind(last.destination, at: 1)
                statement.bind(last.qos, at: 2)
                guard try statement.step() else { break }
                defer { statement.reset() }
                last = (statement.text(0), statement.int(1))
                keys.insert(ReadyKey(destination: Destination(unchecked: last.destination), qos: try statement.qos(1)))
            }
            if connection.hasLimits { try connection.addLimitedKeys(to: &keys) }
            return keys
        }
    }

    package func promoteDue(shard: Int, now: Timestamp, limit: Int) throws(StoreError) -> (
        ready: [ReadyCommand], next: Timestamp?
    ) {
        let shard = try self.shard(shard)
        let look = try shard.use { connection throws(StoreError) in try connection.earliest(.nextDue) }
        guard let look, look <= now else { return ([], look) }
        let ready = try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            let due = try connection.statement(.dueRows)
            due.bind(now, at: 1)
            due.bind(max(limit, 0), at: 2)
            var rows: [(command: ReadyCommand, status: CommandStatus)] = []
            while try due.step() {
                let destination = connection.destination(due, 7)
                let command = try ReadyCommand(
                    due, destination: destination, qos: try due.qos(8), limit: due.optionalText(10))
                rows.append((command, try due.status(9)))
            }
            due.reset()
            let promote = try connection.statement(.promote)
            for row in rows {
                promote.bind(row.command.turn, at: 1)
                try promote.run()
            }
            return rows.filter { $0.status == .new || $0.status == .error }.map(\.command)
        }
        return (ready, try shard.use { connection throws(StoreError) in try connection.earliest(.nextDue) })
    }

    package func countHeldBack(shard: Int, type: String, destination: Destination) throws(StoreError) -> Int {
        try self.shard(shard).use { connection throws(StoreError) in
            let statement = try connection.statement(.heldBackCount)
            defer { statement.reset() }
            statement.bind(type, at: 1)
            statement.bind(destination.text, at: 2)
            return try statement.step() ? statement.int(0) : 0
        }
    }

    package func endWaits(
        shard: Int, type: String, destination: Destination, after: HeldBackPosition?, limit: Int
    ) throws(StoreError) -> (count: Int, next: HeldBackPosition?) {
        try self.shard(shard).write { connection throws(StoreError) in
            let waiting = try connection.statement(.heldBack)
            waiting.bind(type, at: 1)
            waiting.bind(destination.text, at: 2)
            waiting.bind(after?.notBefore.milliseconds ?? 0, at: 3)
            waiting.bind(after?.turn ?? 0, at: 4)
            waiting.bind(max(limit, 0), at: 5)
            var turns: [Int64] = []
            var last: HeldBackPosition?
            var count = 0
            while try waiting.step() {
                count += 1
                last = HeldBackPosition(notBefore: waiting.time(1), turn: waiting.int64(0))
                if waiting.bool(2) { turns.append(waiting.int64(0)) }
            }
            waiting.reset()
            let end = try connection.statement(.endWait)
            for turn in turns {
                end.bind(turn, at: 1)
                try end.run()
            }
            return (turns.count, count < limit ? nil : last)
        }
    }

    package func shiftBackoffs(shard: Int, by jump: Duration, writtenBefore: Timestamp?) throws(StoreError) {
        try self.shard(shard).write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            let shift = try connection.statement(.shiftBackoffs)
            shift.bind(jump.milliseconds, at: 1)
            shift.bind(writtenBefore, at: 2)
            try shift.run()
        }
    }

    package func expire(shard: Int, now: Timestamp, limit: Int) throws(StoreError) -> Expiry {
        let shard = try self.shard(shard)
        let look = try shard.use { connection throws(StoreError) in try connection.earliest(.nextDeadline) }
        guard let look, look <= now else { return Expiry(next: look) }
        let (own, others) = try shard.change(timeout: WriteTimeout.background) { connection throws(StoreError) in
            let passed = try connection.statement(.deadlines)
            passed.bind(now, at: 1)
            passed.bind(max(limit, 0), at: 2)
            var effects = Effects()
            for var row in try connection.rows(passed) {
                switch row.cancel(reason: StoredCommand.deadlinePassed, now: now, &connection.changes) {
                case .cancelled(let transition): effects.events.append(row.event(transition, shard: shard.number))
                case .requested: if row.command.status.isClaimed { effects.requests.append(row.claimed) }
                case .ended: row.openDeadline = nil
                }
                try connection.save(row)
            }
            return effects
        }
        let next = try shard.use { connection throws(StoreError) in try connection.earliest(.nextDeadline) }
        return Expiry(own.followed(by: others), next: next)
    }

    package func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> [StatusEvent] {
        try self.shard(shard).use { connection throws(StoreError) in
            let statement = try connection.statement(.events)
            defer { statement.reset() }
            statement.bind(seq, at: 1)
            statement.bind(max(limit, 0), at: 2)
            var events: [StatusEvent] = []
            while try statement.step() {
                events.append(
                    StatusEvent(
                        transition: try Transition(statement), type: statement.text(7), qos: try statement.qos(8),
                        destination: connection.destination(statement, 9), retries: statement.int(10), shard: shard))
            }
            return events
        }
    }

    package func lastTransition(shard: Int) throws(StoreError) -> Int64 {
        try self.shard(shard).use { connection throws(StoreError) in
            let statement = try connection.statement(.newestSeq)
            defer { statement.reset() }
            return try statement.step() ? statement.int64(0) : 0
        }
    }

    package func claimed(shard: Int) throws(StoreError) -> [ClaimedCommand] {
        try self.shard(shard).use { connection throws(StoreError) in try connection.claimedRows(.inFlight) }
    }

    package func cancellationRequests(shard: Int) throws(StoreError) -> [ClaimedCommand] {
        try self.shard(shard).use { connection throws(StoreError) in try connection.claimedRows(.cancellationRequests) }
    }
}

extension ReadyCommand {
    /// Reads id, type, turn, created_at, suspect, offset, total.
    fileprivate init(
        _ row: Statement, destination: Destination, qos: QualityOfService, limit: String?
    ) throws(StoreError) {
        self.init(
            id: try row.id(0), type: row.text(1), qos: qos, destination: destination, turn: row.int64(2),
            createdAt: row.time(3))
        self.limit = limit
        suspect = row.bool(4)
        remaining = ReadyCommand.remaining(from: row.int64(5), of: row.int64(6))
    }
}

extension Connection {
    /// A shard of an earlier version has no command with a rate limit.
    fileprivate var hasLimits: Bool { version >= Schema.firstWithRelations }

    /// Adds the keys of commands that have a rate limit.
    fileprivate func addLimitedKeys(to keys: inout Set<ReadyKey>) throws(StoreError) {
        let statement = try statement(.limitedKeyAfter)
        // Before the first.
        var last = (limit: "", destination: "", qos: -1)
        while true {
            statement.bind(last.limit, at: 1)
            statement.bind(last.destination, at: 2)
            statement.bind(last.qos, at: 3)
            guard try statement.step() else { return }
            defer { statement.reset() }
            last = (statement.text(0), statement.text(1), statement.int(2))
            keys.insert(
                ReadyKey(
                    destination: Destination(unchecked: last.destination), qos: try statement.qos(2),
                    limit: last.limit))
        }
    }

    fileprivate func earliest(_ query: Query) throws(StoreError) -> Timestamp? {
        let statement = try statement(query)
        defer { statement.reset() }
        return try statement.step() ? statement.optionalTime(0) : nil
    }
}
