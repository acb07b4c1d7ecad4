package import Commands

/// Commands that wait for a time: the end of a backoff, or a deadline.
extension PostgreSQLStore {
    // MARK: Due commands

    /// SQL: the first time of the shard `w.number` from a mark on.
    static func firstDue(from mark: String) -> String {
        """
        least(
            (SELECT p.not_before FROM parked p WHERE p.shard = w.number AND p.not_before > 0 AND p.not_before >= \(mark)
                ORDER BY p.not_before LIMIT 1),
            (SELECT p.not_before FROM parked p WHERE p.shard = w.number AND p.not_before = 1 LIMIT 1))
        """
    }

    private static let nextDue = PostgreSQLStatement(
        "next-due",
        """
        SELECT w.number, \(firstDue(from: "w.mark")) FROM unnest($1::int8[]::int2[], $2::int8[]) w(number, mark)
        """)
    private static let due = PostgreSQLStatement(
        "due",
        """
        SELECT id FROM parked WHERE shard = $1 AND not_before > 0 AND not_before >= $4 AND not_before <= $2
        ORDER BY not_before, turn LIMIT $3
        """)

    package func promoteDue(shard: Int, limit: Int) throws(StoreError) -> PromotedCommands {
        try check(shard)
        return try promoteDue(shard, limit: limit, next: nextDue([shard])[shard])
    }

    package func promoteDue(_ shards: [Int], limit: Int, each: (Int, Result<PromotedCommands, StoreError>) -> Void) {
        let next = Result { () throws(StoreError) in try self.nextDue(shards) }
        for shard in shards {
            each(
                shard,
                next.flatMap { next in
                    Result { () throws(StoreError) in try promoteDue(shard, limit: limit, next: next[shard]) }
                })
        }
    }

    private func promoteDue(
        _ shard: Int, limit: Int, next: Timestamp?
    ) throws(StoreError) -> PromotedCommands {
        let now = clock.now()
        // Without a lock where nothing is due.
        guard let next, next <= now else { return ([], next) }
        let mark = dueMarks.mark(of: shard)
        let promoted = try change(shard: shard, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            let transaction = shard.transaction
            // A wait that was ended is found before the mark.
            let start = min(next, mark)
            let ids = try transaction.read(Self.due, shard.number, now, max(limit, 0), start).rows { row in
                row[0] as CommandID
            }
            try shard.load(ids)
            var ready: [ReadyCommand] = []
            for id in ids {
                guard var row = try shard.command(id) else { continue }
                row.command.notBefore = .zero
                shard.promote(row)
                if row.isReady { ready.append(row.ready) }
            }
            try shard.flush()
            let next = try transaction.read(Self.nextDue, [shard.number], [mark]).first { row in row[1] as Timestamp? }
            return (ready, next ?? nil)
        }.0
        dueMarks.end(shard, first: promoted.1, now: now)
        return promoted
    }

    private func nextDue(_ shards: [Int]) throws(StoreError) -> [Int: Timestamp] {
        let now = clock.now()
        let next = try next(Self.nextDue, shards, from: dueMarks.begin(shards, now: now))
        for shard in shards { dueMarks.end(shard, first: next[shard], now: now) }
        return next
    }

    /// The first time of each shard, in one round trip; shards without one are left out.
    private func next(
        _ statement: PostgreSQLStatement, _ shards: [Int], from marks: [Timestamp]
    ) throws(StoreError) -> [Int: Timestamp] {
        let found = try read { transaction throws(StoreError) in
            try transaction.read(statement, shards, marks).rows { row in (row[0] as Int, row[1] as Timestamp?) }
        }
        return Dictionary(uniqueKeysWithValues: found).compactMapValues { $0 }
    }

    // MARK: Backoffs

    private static let isHeldBack = "type = $2 AND destination = $3 AND status IN (0, 3) AND claim > 0"
    private static let heldBackCount = PostgreSQLStatement(
        "count-held-back", "SELECT count(*) FROM parked WHERE shard = $1 AND not_before > 1 AND \(isHeldBack)")
    private static let heldBack = PostgreSQLStatement(
        "held-back",
        """
        SELECT id, turn, not_before, \(isHeldBack) FROM parked WHERE shard = $1 AND not_before > 1
        AND (not_before, turn) > ($4, $5) ORDER BY not_before, turn LIMIT $6
        """)
    /// Due since 1970: the next look for due rows finds it first.
    private static let endWaits = PostgreSQLStatement(
        "end-waits", "UPDATE parked SET not_before = 1 WHERE id = ANY($1::uuid[])")
    /// A `new` command that was never claimed waits for the time that its producer named, and is not shifted.
    private static let isBackoff = "(status = 3 OR status = 0 AND claim > 0)"
    private static let shiftBackoffs = PostgreSQLStatement(
        "shift-backoffs",
        """
        UPDATE parked SET not_before = greatest(not_before + $2, 1) WHERE shard = $1 AND not_before > 0 AND \(isBackoff)
        AND ($3::int8 IS NULL OR updated_at < $3)
        """)
    /// A row that a clock ahead of this one has written waits for as long as it was meant to.
    private static let clampWaits = PostgreSQLStatement(
        "clamp-waits",
        """
        UPDATE parked SET not_before = least(not_before, $2 + CASE
            WHEN updated_at > $2 AND not_before - updated_at BETWEEN 0 AND $3 THEN not_before - updated_at ELSE $4 END)
        WHERE shard = $1 AND not_before > 0 AND not_before > $2 AND \(isBackoff)
        AND (updated_at > $2 OR not_before > $2 + $3)
        """)

    package func countHeldBack(shard: Int, type: String, destination: Destination) throws(StoreError) -> Int {
        try check(shard)
        return try read { transaction throws(StoreError) in
            try transaction.read(Self.heldBackCount, shard, type, destination.text).first { row in row[0] as Int } ?? 0
        }
    }

    package func endWaits(
        shard: Int, type: String, destination: Destination, after: HeldBackPosition?, limit: Int
    ) throws(StoreError) -> (count: Int, next: HeldBackPosition?) {
        try change(shard: shard) { shard throws(StoreError) in
            let looked = try shard.transaction.read(
                Self.heldBack, shard.number, type, destination.text, after?.notBefore ?? .zero, after?.turn ?? 0,
                max(limit, 0)
            ).rows { row in
                (
                    id: row[0] as CommandID, isOfQueue: row[3] as Bool,
                    position: HeldBackPosition(notBefore: row[2], turn: row[1])
                )
            }
            let ids = looked.filter(\.isOfQueue).map(\.id)
            if !ids.isEmpty { try shard.transaction.write(Self.endWaits, ids) }
            return (ids.count, looked.count < limit ? nil : looked.last?.position)
        }.0
    }

    package func shiftBackoffs(shard: Int, by jump: Duration, writtenBefore: Timestamp?) throws(StoreError) {
        _ = try change(shard: shard, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            try shard.transaction.write(Self.shiftBackoffs, shard.number, jump.milliseconds, writtenBefore)
        }
        dueMarks.forget()
    }

    package func clampWaits(shard: Int) throws(StoreError) {
        let (longest, backoff) = (RetryPolicy.longestWait.milliseconds, RetryPolicy().maxDelay.milliseconds)
        let now = clock.now()
        _ = try change(shard: shard, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            try shard.transaction.write(Self.clampWaits, shard.number, now, longest, backoff)
        }
        dueMarks.forget()
    }

    // MARK: Deadlines

    private static let nextDeadline = PostgreSQLStatement(
        "next-deadline",
        """
        SELECT w.number, (SELECT a.at FROM alarm a WHERE a.shard = w.number AND a.at >= w.mark ORDER BY a.at LIMIT 1)
        FROM unnest($1::int8[]::int2[], $2::int8[]) w(number, mark)
        """)
    private static let deadlines = PostgreSQLStatement(
        "deadlines", "SELECT id FROM alarm WHERE shard = $1 AND at >= $4 AND at <= $2 ORDER BY at, id LIMIT $3")

    private static let passedDeadline = PostgreSQLStatement(
        "passed-deadline",
        """
        SELECT w.number, \(firstPassed(from: "w.mark", to: "$3")) FROM unnest($1::int8[]::int2[], $2::int8[]) w(number, mark)
        """)

    /// SQL: the first deadline of the shard `w.number` in a time.
    static func firstPassed(from mark: String, to now: String) -> String {
        """
        (SELECT a.at FROM alarm a WHERE a.shard = w.number AND a.at >= \(mark) AND a.at <= \(now)::int8 ORDER BY a.at LIMIT 1)
        """
    }

    private func nextDeadlines(_ shards: [Int]) throws(StoreError) -> [Int: Timestamp] {
        try next(Self.nextDeadline, shards, from: shards.map { _ in .zero })
    }

    /// The first deadlines that have passed. The commands that ended before their deadlines leave entries that are not stepped
    /// over.
    private func passed(_ shards: [Int]) throws(StoreError) -> [Int: Timestamp] {
        let now = clock.now()
        let marks = deadlineMarks.begin(shards, now: now)
        let found = try read { transaction throws(StoreError) in
            try transaction.read(Self.passedDeadline, shards, marks, now).rows { row in
                (row[0] as Int, row[1] as Timestamp?)
            }
        }
        for (shard, first) in found { deadlineMarks.end(shard, first: first, now: now) }
        return Dictionary(uniqueKeysWithValues: found).compactMapValues { $0 }
    }

    package func passedDeadlines(shard: Int, limit: Int) throws(StoreError) -> Set<ReadyKey> {
        try check(shard)
        return try passedDeadlines(shard, limit: limit, next: nextDeadlines([shard])[shard])
    }

    package func passedDeadlines(
        _ shards: [Int], limit: Int, each: (Int, Result<Set<ReadyKey>, StoreError>) -> Void
    ) {
        let next = Result { () throws(StoreError) in try passed(shards) }
        for shard in shards {
            each(
                shard,
                next.flatMap { next in
                    Result { () throws(StoreError) in try passedDeadlines(shard, limit: limit, next: next[shard]) }
                })
        }
    }

    private func passedDeadlines(_ shard: Int, limit: Int, next: Timestamp?) throws(StoreError) -> Set<ReadyKey> {
        let now = clock.now()
        guard let next, next <= now, !isClockHeld else { return [] }
        return try read { transaction throws(StoreError) in
            let ids = try transaction.read(Self.deadlines, shard, now, max(limit, 0), next).rows { row in
                row[0] as CommandID
            }
            let keys = try transaction.read(CommandSQL.byID, ids).rows { row throws(StoreError) in
                ReadyKey(try StoredCommand(row))
            }
            return Set(keys)
        }
    }

    package func expire(shard: Int, limit: Int, causes: [ReadyKey: String]) throws(StoreError) -> Expiry {
        try check(shard)
        return try expire(shard, limit: limit, causes: causes, next: nextDeadlines([shard])[shard])
    }

    package func expire(
        _ shards: [Int: [ReadyKey: String]], limit: Int, each: (Int, Result<Expiry, StoreError>) -> Void
    ) {
        let sorted = shards.sorted { $0.key < $1.key }
        let next = Result { () throws(StoreError) in try nextDeadlines(sorted.map(\.key)) }
        for (shard, causes) in sorted {
            each(
                shard,
                next.flatMap { next in
                    Result { () throws(StoreError) in
                        try expire(shard, limit: limit, causes: causes, next: next[shard])
                    }
                })
        }
    }

    private func expire(
        _ shard: Int, limit: Int, causes: [ReadyKey: String], next: Timestamp?
    ) throws(StoreError) -> Expiry {
        let now = clock.now()
        guard let next, next <= now, !isClockHeld else { return Expiry(next: next) }
        let ((own, later), others) = try change(shard: shard, timeout: WriteTimeout.foreground) {
            shard throws(StoreError) in
            let transaction = shard.transaction
            let ids = try transaction.read(Self.deadlines, shard.number, now, max(limit, 0), next).rows { row in
                row[0] as CommandID
            }
            try shard.load(ids)
            var effects = Effects()
            for id in ids {
                guard var row = try shard.command(id) else { continue }
                let reason = row.deadlinePassed(because: causes[ReadyKey(row)])
                switch row.cancel(reason: reason, now: now, &shard.changes) {
                case .cancelled(let transition): effects.events.append(row.event(transition, shard: shard.number))
                case .requested: if row.command.status.isClaimed { effects.requests.append(row.claimed) }
                case .ended: row.openDeadline = nil
                }
                shard.save(row)
            }
            try shard.flush()
            let later = try transaction.read(Self.nextDeadline, [shard.number], [next]).first { row in
                row[1] as Timestamp?
            }
            return (effects, later ?? nil)
        }
        return Expiry(own.followed(by: others), next: later)
    }

    // MARK: Queues

    package func waitingQueues(
        of destinations: [Destination], shard: Int
    ) throws(StoreError) -> [WaitingQueue.Name: WaitingQueue] {
        let limits = Set(try limitedKeys(shard: shard).compactMap(\.limit)).sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }.prefix(WaitingQueue.maxLimits)
        return try snapshot(shard: shard) { shard throws(StoreError) in
            var queues: [WaitingQueue.Name: WaitingQueue] = [:]
            var room = WaitingQueue.maxCountedInAll
            for name in WaitingQueue.names(Array(limits), destinations) {
                guard let queue = try shard.queue(name, limit: min(max(room, 1), WaitingQueue.maxCounted)) else {
                    continue
                }
                room -= queue.count
                queues[name] = queue
            }
            return queues
        }
    }
}

extension PostgreSQLShard {
    private static func queue(_ name: String, _ entries: String, order: String) -> PostgreSQLStatement {
        PostgreSQLStatement(
            "queue-\(name)",
            """
            SELECT (SELECT id FROM \(entries) ORDER BY \(order), turn LIMIT 1),
                (SELECT count(*) FROM (SELECT 1 FROM \(entries) LIMIT $2) w)
            """)
    }
    private static let ofDestination = queue(
        "destination", "ready WHERE shard = $1 AND rate_limit IS NULL AND destination = $3", order: "qos")
    private static let ofLimit = queue(
        "limit", "ready WHERE shard = $1 AND rate_limit IS NOT NULL AND rate_limit = $3", order: "destination, qos")
    private static let ofTime = queue("time", "parked WHERE shard = $1 AND not_before > 0", order: "not_before")

    /// - Parameter limit: of the commands that are counted.
    /// - Returns: nil for an empty queue.
    fileprivate func queue(_ name: WaitingQueue.Name, limit: Int) throws(StoreError) -> WaitingQueue? {
        func entry(_ row: borrowing PostgreSQLRow) -> (CommandID?, Int) { (row[0], row[1]) }
        // One more than the limit shows that there are more.
        let found: (CommandID?, Int)? =
            switch name {
            case .destination(let destination):
                try transaction.read(Self.ofDestination, number, limit + 1, destination.text).first(entry)
            case .limit(let limitName): try transaction.read(Self.ofLimit, number, limit + 1, limitName).first(entry)
            case .notBefore: try transaction.read(Self.ofTime, number, limit + 1).first(entry)
            }
        guard let (id, count) = found, let id, let first = try command(id)?.command else { return nil }
        return WaitingQueue(count: max(min(count, limit), 1), isComplete: count <= limit, first: first)
    }
}
