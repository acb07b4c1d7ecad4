package import Commands

extension SQLiteStore {
    package func ready(
        shard: Int, key: ReadyKey, afterTurn: Int64, limit: Int
    ) throws(StoreError) -> [ReadyCommand] {
        try self.shard(shard).use { connection throws(StoreError) in
            if key.limit != nil, !connection.hasLimits { return [] }
            let statement = try connection.statement(key.limit == nil ? .ready : .readyLimited)
            statement.bind(key.destination.text, at: 1)
            statement.bind(key.qos, at: 2)
            statement.bind(afterTurn, at: 3)
            statement.bind(max(limit, 0), at: 4)
            if let name = key.limit { statement.bind(name, at: 5) }
            return try statement.rows { row throws(StoreError) in
                try ReadyCommand(row, destination: key.destination, qos: key.qos, limit: key.limit)
            }
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
        guard try hasReadyAgain(shard: shard) else { return [] }
        return try self.shard(shard).write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            let statement = try connection.statement(.readyAgain, max(limit, 0))
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
            if let last { try connection.statement(.dropReadyAgain, last).run() }
            return ready
        }
    }

    package func hasReadyAgain(shard: Int) throws(StoreError) -> Bool {
        try self.shard(shard).use { connection throws(StoreError) in
            try connection.statement(.hasReadyAgain).hasRow()
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

    package func promoteDue(shard: Int, limit: Int) throws(StoreError) -> PromotedCommands {
        let now = clock.now()
        let shard = try self.shard(shard)
        let look = try shard.use { connection throws(StoreError) in try connection.earliest(.nextDue) }
        guard let look, look <= now else { return ([], look) }
        let ready = try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            let due = try connection.statement(.dueRows, now, max(limit, 0))
            let rows = try due.rows { row throws(StoreError) in
                let command = try ReadyCommand(
                    row, destination: connection.destination(row, 7), qos: try row.qos(8), limit: row.optionalText(10))
                return (command: command, status: try row.status(9))
            }
            for row in rows { try connection.statement(.promote, row.command.turn).run() }
            return rows.filter { $0.status == .new || $0.status == .error }.map(\.command)
        }
        return (ready, try shard.use { connection throws(StoreError) in try connection.earliest(.nextDue) })
    }

    package func countHeldBack(shard: Int, type: String, destination: Destination) throws(StoreError) -> Int {
        try self.shard(shard).use { connection throws(StoreError) in
            try connection.statement(.heldBackCount, type, destination.text).first { $0.int(0) } ?? 0
        }
    }

    package func endWaits(
        shard: Int, type: String, destination: Destination, after: HeldBackPosition?, limit: Int
    ) throws(StoreError) -> (count: Int, next: HeldBackPosition?) {
        try self.shard(shard).write { connection throws(StoreError) in
            let waiting = try connection.statement(
                .heldBack, type, destination.text, after?.notBefore ?? .zero, after?.turn ?? 0, max(limit, 0))
            var turns: [Int64] = []
            var last: HeldBackPosition?
            var count = 0
            while try waiting.step() {
                count += 1
                last = HeldBackPosition(notBefore: waiting.time(1), turn: waiting.int64(0))
                if waiting.bool(2) { turns.append(waiting.int64(0)) }
            }
            for turn in turns { try connection.statement(.endWait, turn).run() }
            return (turns.count, count < limit ? nil : last)
        }
    }

    package func shiftBackoffs(shard: Int, by jump: Duration, writtenBefore: Timestamp?) throws(StoreError) {
        try self.shard(shard).write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            try connection.statement(.shiftBackoffs, jump.milliseconds, writtenBefore).run()
        }
    }

    package func clampWaits(shard: Int) throws(StoreError) {
        let (longest, backoff) = (RetryPolicy.longestWait.milliseconds, RetryPolicy().maxDelay.milliseconds)
        try self.shard(shard).write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            try connection.statement(.clampWaits, clock.now(), longest, backoff).run()
        }
    }

    package func lastTurn(shard: Int, outside times: Range<Timestamp>) throws(StoreError) -> Int64 {
        try self.shard(shard).use { connection throws(StoreError) in
            let newest = try connection.statement(.newestTimes)
            defer { newest.reset() }
            var turn: Int64 = 0
            while try newest.step() {
                turn = newest.int64(0)
                if !times.contains(newest.time(1)) { return turn }
            }
            return 0
        }
    }

    package func passedDeadlines(shard: Int, limit: Int) throws(StoreError) -> Set<ReadyKey> {
        let now = clock.now()
        let shard = try self.shard(shard)
        return try shard.use { connection throws(StoreError) in
            guard let first = try connection.earliest(.nextDeadline), first <= now, !connection.isClockHeld else {
                return []
            }
            return Set(try connection.rows(connection.statement(.deadlines, now, max(limit, 0))).map(ReadyKey.init))
        }
    }

    package func expire(shard: Int, limit: Int, causes: [ReadyKey: String]) throws(StoreError) -> Expiry {
        let now = clock.now()
        let shard = try self.shard(shard)
        let look = try shard.use { connection throws(StoreError) in try connection.earliest(.nextDeadline) }
        guard let look, look <= now, !isClockHeld else { return Expiry(next: look) }
        let (own, others) = try shard.change(timeout: WriteTimeout.background) { connection throws(StoreError) in
            let passed = try connection.statement(.deadlines, now, max(limit, 0))
            var effects = Effects()
            for var row in try connection.rows(passed) {
                let reason = row.deadlinePassed(because: causes[ReadyKey(row)])
                switch row.cancel(reason: reason, now: now, &connection.changes) {
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

    package func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> EventPage {
        let limit = max(limit, 0)
        return try self.shard(shard).use { connection throws(StoreError) in
            // Read first: the events include whatever is committed between the two statements.
            let newest = try connection.newestTransition()
            let events = try connection.statement(.events, seq, limit).rows { row throws(StoreError) in
                StatusEvent(
                    transition: try Transition(row), type: row.text(7), qos: try row.qos(8),
                    destination: connection.destination(row, 9), retries: row.int(10), shard: shard)
            }
            return EventPage(withoutHoles: events, after: seq, limit: limit, newest: newest)
        }
    }

    package func lastTransition(shard: Int) throws(StoreError) -> Int64 {
        try self.shard(shard).use { connection throws(StoreError) in try connection.newestTransition() }
    }

    package func claimed(shard: Int) throws(StoreError) -> [ClaimedCommand] {
        try self.shard(shard).use { connection throws(StoreError) in try connection.claimedRows(.inFlight) }
    }

    package func cancellationRequests(shard: Int) throws(StoreError) -> [ClaimedCommand] {
        try self.shard(shard).use { connection throws(StoreError) in try connection.claimedRows(.cancellationRequests) }
    }
}

extension Connection {
    fileprivate func newestTransition() throws(StoreError) -> Int64 {
        try statement(.newestSeq).first { $0.int64(0) } ?? 0
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
        isSoleSuspect = row.int(4) == Schema.soleSuspect
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
        try statement(query).first { $0.optionalTime(0) } ?? nil
    }
}
