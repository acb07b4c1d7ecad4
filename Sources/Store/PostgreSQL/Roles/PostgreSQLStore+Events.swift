package import Commands

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
