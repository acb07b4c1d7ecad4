package import Commands
internal import Synchronization

/// The claims and the transitions of the shards, which the coordinator follows.
extension PostgreSQLStore {
    // MARK: Claims

    /// Claims of some shards, with their shards. Only rows of executions are there, so that a scan of the table is cheap.
    static let claimedIn = PostgreSQLStatement(
        "claimed-in",
        """
        SELECT id, status, type, qos, destination, seat, epoch, claim, retries, suspect, updated_at, rate_limit, shard,
            cancel_requested
        FROM running WHERE shard = ANY($1::int8[]::int2[]) ORDER BY shard, turn
        """)

    /// A row of ``claimedIn``.
    struct Claim {
        var shard: Int
        var command: ClaimedCommand
        /// It has a cancellation request.
        var isRequested: Bool

        init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
            shard = row[12]
            command = try ClaimedCommand(row)
            isRequested = row[13]
        }
    }

    package func claimed(shard: Int) throws(StoreError) -> [ClaimedCommand] {
        try check(shard)
        return try claims(of: [shard]).map(\.command)
    }

    package func claimed() throws(StoreError) -> [[ClaimedCommand]] {
        var claimed: [[ClaimedCommand]] = Array(repeating: [], count: shardCount)
        for claim in try claims(of: Array(0..<shardCount)) { claimed[claim.shard].append(claim.command) }
        return claimed
    }

    package func cancellationRequests(shard: Int) throws(StoreError) -> [ClaimedCommand] {
        try check(shard)
        return try claims(of: [shard]).filter(\.isRequested).map(\.command)
    }

    package func cancellationRequests(_ shards: [Int], each: (Int, Result<[ClaimedCommand], StoreError>) -> Void) {
        let found = Result { () throws(StoreError) in try claims(of: shards).filter(\.isRequested) }
        for shard in shards { each(shard, found.map { $0.filter { $0.shard == shard }.map(\.command) }) }
    }

    private func claims(of shards: [Int]) throws(StoreError) -> [Claim] {
        try read { transaction throws(StoreError) in
            try transaction.read(Self.claimedIn, shards).rows { row throws(StoreError) in try Claim(row) }
        }
    }

    // MARK: Transitions

    private static let events = PostgreSQLStatement(
        "events",
        """
        SELECT t.seq, t.id, t.status, t.at, t.seat, t.claim, t.reason, c.type, s.qos, c.destination, s.retries FROM (
            SELECT * FROM transition WHERE shard = $1 AND seq > $2 ORDER BY seq LIMIT $3) t
        \(CommandSQL.row(of: "t.id")) ORDER BY t.seq
        """)
    private static let newest = PostgreSQLStatement(
        "newest-transition",
        """
        SELECT greatest(
            coalesce((SELECT seq FROM transition WHERE shard = $1 ORDER BY seq DESC LIMIT 1), 0),
            coalesce((SELECT seq FROM pruned WHERE shard = $1 LIMIT 1), 0))
        """)

    /// Numbers are given under the lock of the shard, so that none is missing below a committed one.
    package func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> EventPage {
        try check(shard)
        let limit = max(limit, 0)
        return try read { transaction throws(StoreError) in
            // Read first: the events include whatever is committed between the two statements.
            try transaction.pipeline {
                $0.append(Self.newest, shard)
                $0.append(Self.events, shard, seq, limit)
            } read: { (results, first) throws(StoreError) in
                let newest = results.take(first).first { row in row[0] as Int64 } ?? 0
                let events = try results.take(first + 1).rows { row throws(StoreError) in
                    StatusEvent(
                        transition: try Transition(row), type: row[7], qos: try row.qos(8),
                        destination: Destination(unchecked: row[9] as String), retries: row[10], shard: shard)
                }
                return EventPage(withoutHoles: events, after: seq, limit: limit, newest: newest)
            }
        }
    }

    package func lastTransition(shard: Int) throws(StoreError) -> Int64 {
        try check(shard)
        return try read { transaction throws(StoreError) in
            try transaction.read(Self.newest, shard).first { row in row[0] as Int64 } ?? 0
        }
    }

    /// A submit is looked for by its first transition, because the commands are in the order of their ids.
    private static let lastTurn = PostgreSQLStatement(
        "last-turn",
        """
        SELECT c.turn FROM (
            SELECT id FROM (SELECT id, seq, at, previous FROM transition WHERE shard = $1 ORDER BY seq DESC LIMIT 300000) t
            WHERE previous = 0 AND NOT (at >= $2 AND at < $3) ORDER BY seq DESC LIMIT 1) w
        JOIN LATERAL (SELECT turn FROM command WHERE id = w.id LIMIT 1) c ON true
        """)

    package func lastTurn(shard: Int, outside times: Range<Timestamp>) throws(StoreError) -> Int64 {
        try check(shard)
        return try read { transaction throws(StoreError) in
            try transaction.read(Self.lastTurn, shard, times.lowerBound, times.upperBound).first { row in
                row[0] as Int64
            } ?? 0
        }
    }
}

extension ClaimedCommand {
    fileprivate init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        var command = Command(
            id: row[0], type: row[2], destination: Destination(unchecked: row[4] as String), createdAt: .zero)
        command.status = try row.status(1)
        command.qos = try row.qos(3)
        command.seat = row[5] as Int?
        command.claim = row[7]
        command.retries = row[8]
        command.suspect = (row[9] as Int) > 0
        command.updatedAt = row[10]
        command.limit = row[11] as String?
        self.init(command, epoch: (row[6] as Int64?) ?? 0)
    }
}

/// The sweep of the coordinator: one round trip for all shards where nothing has changed.
extension PostgreSQLStore {
    private static let newestOfShards = PostgreSQLStatement(
        "sweep-newest",
        """
        SELECT w.number, greatest(
            coalesce((SELECT t.seq FROM transition t WHERE t.shard = w.number ORDER BY t.seq DESC LIMIT 1), 0),
            coalesce((SELECT p.seq FROM pruned p WHERE p.shard = w.number LIMIT 1), 0)),
            coalesce((SELECT true FROM ready_again a WHERE a.shard = w.number LIMIT 1), false)
        FROM unnest($1::int8[]::int2[]) w(number)
        """)

    package func lastTransitions() throws(StoreError) -> [Int64?] {
        try read { transaction throws(StoreError) in
            var numbers: [Int64?] = Array(repeating: nil, count: shardCount)
            let found = try transaction.read(Self.newestOfShards, Array(0..<shardCount)).rows { row in
                (shard: row[0] as Int, number: row[1] as Int64)
            }
            for entry in found { numbers[entry.shard] = entry.number }
            return numbers
        }
    }

    package func sweep(_ shards: [ShardSweep], each: (ShardSweep, Result<SweptShard, StoreError>) -> Void) {
        let found = Result { () throws(StoreError) in try firstLook(shards) }
        // Most shards are read by their keys, all of them at once.
        let looked = (try? found.get()) ?? [:]
        let byKeys = looked.filter { shard, swept in shards.contains { $0.shard == shard && Self.readsKeys($0, swept) }
        }
        let keys = Result { () throws(StoreError) in try readyKeys(byKeys.mapValues(\.through)) }
        for sweep in shards {
            each(
                sweep,
                found.flatMap { found in
                    Result { () throws(StoreError) in
                        guard var swept = found[sweep.shard] else {
                            throw StoreError(.invalid, "There is no shard \(sweep.shard); the store has \(shardCount).")
                        }
                        try look(sweep, keys, into: &swept)
                        return swept
                    }
                })
        }
    }

    /// The numbers of the shards, read before everything else, so that no later change counts as read.
    private func firstLook(_ sweeps: [ShardSweep]) throws(StoreError) -> [Int: SweptShard] {
        let asking = sweeps.filter(\.readsClaims).map(\.shard)
        return try read { transaction throws(StoreError) in
            try transaction.pipeline {
                $0.append(Self.newestOfShards, sweeps.map(\.shard))
                $0.append(PostgreSQLStore.claimedIn, asking)
            } read: { (results, first) throws(StoreError) in
                var swept: [Int: SweptShard] = [:]
                let numbers = results.take(first).rows { row in (row[0] as Int, row[1] as Int64, row[2] as Bool) }
                for (shard, newest, hasReadyAgain) in numbers {
                    swept[shard] = SweptShard(through: newest, hasReadyAgain: hasReadyAgain)
                }
                for shard in asking {
                    swept[shard]?.claimed = []
                    swept[shard]?.requests = []
                }
                let claims = try results.take(first + 1).rows { row throws(StoreError) in try Claim(row) }
                for claim in claims {
                    swept[claim.shard]?.claimed?.append(claim.command)
                    if claim.isRequested { swept[claim.shard]?.requests?.append(claim.command) }
                }
                return swept
            }
        }
    }

    /// Whether a shard is read by its keys: as it is told, or because too much has changed.
    private static func readsKeys(_ sweep: ShardSweep, _ swept: SweptShard?) -> Bool {
        switch sweep.way {
        case .keys: true
        case .changes(let after): (swept?.through ?? 0) - after > Int64(ShardSweep.maxChanges)
        case nil: false
        }
    }

    /// Takes in the keys of a shard, or what has changed in it.
    private func look(
        _ sweep: ShardSweep, _ keys: Result<[Int: Set<ReadyKey>], StoreError>, into swept: inout SweptShard
    ) throws(StoreError) {
        let (shard, newest) = (sweep.shard, swept.through)
        if Self.readsKeys(sweep, swept) {
            let found = try keys.get()[shard] ?? []
            swept.keys = found
            if found.count > ShardSweep.fewKeys {
                try readChanges(of: shard, after: max(newest - ShardSweep.newestChanges, 0), into: &swept)
            }
        } else if case .changes(let after) = sweep.way {
            swept.through = max(after, newest)
            if newest > after { try readChanges(of: shard, after: after, into: &swept) }
        }
    }

    private func readChanges(of shard: Int, after: Int64, into swept: inout SweptShard) throws(StoreError) {
        let page = try events(shard: shard, after: after, limit: ShardSweep.maxChanges)
        let ids = Set(page.events.map(\.transition).filter { $0.status == .new || $0.status == .error }.map(\.id))
        swept.changed = try ready(shard: shard, ids: Array(ids))
        swept.through = min(swept.through, page.complete)
    }

    /// The first row of each kind, in each shard.
    private static let dueWork = PostgreSQLStatement(
        "due-work",
        """
        SELECT w.number, \(firstDue(from: "w.due")), \(firstPassed(from: "w.deadline", to: "$4")),
            (SELECT s.next FROM schedule s WHERE s.shard = w.number AND s.next IS NOT NULL ORDER BY s.next LIMIT 1),
            coalesce((SELECT true FROM cascade c WHERE c.shard = w.number LIMIT 1), false),
            coalesce((SELECT true FROM outbox o WHERE o.shard = w.number LIMIT 1), false),
            coalesce((SELECT true FROM inbox WHERE number > $5 LIMIT 1), false)
        FROM unnest($1::int8[]::int2[], $2::int8[], $3::int8[]) w(number, due, deadline)
        """)

    /// One round trip.
    package func dueWork(_ shards: [Int]) throws(StoreError) -> DueWork? {
        let now = clock.now()
        let (due, deadlines) = (dueMarks.begin(shards, now: now), deadlineMarks.begin(shards, now: now))
        let mark = inboxMarks.withLock { $0.beforeLast }
        var work = DueWork()
        let first = try read { transaction throws(StoreError) in
            work = DueWork()
            return try transaction.read(Self.dueWork, shards, due, deadlines, now, mark).rows { row in
                let (shard, due, deadline): (Int, Timestamp?, Timestamp?) = (row[0], row[1], row[2])
                work.add(due, of: shard, to: \.promotions, now: now)
                work.add(deadline, of: shard, to: \.deadlines, now: now)
                work.add(row[3] as Timestamp?, of: shard, to: \.schedules, now: now)
                if row[4] as Bool { work.effects.append(shard) }
                if row[5] as Bool { work.messages.append(shard) }
                if row[6] as Bool { work.hasInbox = true }
                return (shard: shard, due: due, deadline: deadline)
            }
        }
        for found in first {
            dueMarks.end(found.shard, first: found.due, now: now)
            deadlineMarks.end(found.shard, first: found.deadline, now: now)
        }
        return work
    }
}
