internal import Commands

/// The rows of ordering keys.
extension PostgreSQLShard {
    /// Of `l`, a row of `lane`.
    static let newestHolder =
        "(SELECT h.turn FROM lane_holder h WHERE h.shard = l.shard AND h.key = l.key ORDER BY h.turn DESC LIMIT 1)"
    private static let lane = PostgreSQLStatement(
        "lane", "SELECT key, max, open, \(newestHolder), is_ordered FROM lane l WHERE shard = $1 AND key = $2")
    private static let saveLane = PostgreSQLStatement(
        "save-lane",
        """
        INSERT INTO lane(shard, key, max, open, is_ordered) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (shard, key) DO UPDATE SET max = excluded.max, open = excluded.open, is_ordered = excluded.is_ordered
        """)
    private static let addHolder = PostgreSQLStatement(
        "add-holder", "INSERT INTO lane_holder(shard, key, turn) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
    private static let removeHolder = PostgreSQLStatement(
        "remove-holder", "DELETE FROM lane_holder WHERE shard = $1 AND key = $2 AND turn = $3")
    private static let disorderLane = PostgreSQLStatement(
        "disorder-lane", "UPDATE lane SET is_ordered = false WHERE shard = $1 AND key = $2")
    private static let removeLane = PostgreSQLStatement("remove-lane", "DELETE FROM lane WHERE shard = $1 AND key = $2")
    private static let lanesAfter = PostgreSQLStatement(
        "lanes-after",
        "SELECT key, max, open, \(newestHolder), is_ordered FROM lane l WHERE shard = $1 AND key > $2 ORDER BY key LIMIT $3"
    )

    func lane(_ key: String) throws(StoreError) -> LaneRow? {
        if let known = lanes[key] { return known }
        let found = try transaction.read(Self.lane, number, key).first { row in
            (lane: LaneRow(row), isOrdered: row[4] as Bool)
        }
        lanes[key] = .some(found?.lane)
        if let (lane, isOrdered) = found {
            storedLanes[key] = StoredLane(lane, isOrdered: isOrdered)
            if orderedKeys[key] == nil { orderedKeys[key] = isOrdered }
        }
        return found?.lane
    }

    /// Takes in the row of a key, before its first waiters.
    func know(_ lane: LaneRow, isOrdered: Bool) {
        knownWaiters[lane.key] = KnownRange(max: RelationClosure.waiters(ofKeyWith: lane.limit)) { $0 }
        guard (lanes[lane.key] ?? nil) == nil else { return }
        lanes[lane.key] = lane
        orderedKeys[lane.key] = isOrdered
        storedLanes[lane.key] = StoredLane(lane, isOrdered: isOrdered)
    }

    /// The rows of a key are about to be known: those that there are.
    func knowNothing(ofKey key: String) {
        if lanes[key] == nil { lanes[key] = .some(nil) }
        knownWaiters[key] = KnownRange(max: RelationClosure.waiters(ofKeyWith: 1)) { $0 }
        firstWaiters[key] = nil
    }

    func save(_ lane: LaneRow) throws(StoreError) {
        let key = lane.key
        if lane.holder != (lanes[key] ?? nil)?.holder {
            // A new holder was the first waiter, or there is none. A flow that is retried may have waiters before it.
            let first = firstWaiters[key]
            orderedKeys[key] = first.map { $0 == nil || $0 == lane.holder } ?? false
        }
        lanes[key] = lane
        let (stored, new) = (storedLanes[key], StoredLane(lane, isOrdered: orderedKeys[key] ?? false))
        storedLanes[key] = new
        if stored?.row != new.row {
            try transaction.write(Self.saveLane, number, key, lane.limit, lane.open, new.row.isOrdered)
        }
        guard stored?.holder != new.holder else { return }
        if let old = stored?.holder { try transaction.write(Self.removeHolder, number, key, old) }
        if let turn = new.holder { try transaction.write(Self.addHolder, number, key, turn) }
    }

    /// The turn behind which the commands wait that have not had a key.
    private func start(ofWaitersFor key: String) -> Int64 {
        orderedKeys[key] == true ? (lanes[key] ?? nil)?.holder ?? 0 : 0
    }

    func remove(_ lane: LaneRow) throws(StoreError) {
        lanes[lane.key] = .some(nil)
        try transaction.write(Self.removeLane, number, lane.key)
        if let holder = storedLanes[lane.key]?.holder {
            try transaction.write(Self.removeHolder, number, lane.key, holder)
        }
        storedLanes[lane.key] = nil
    }

    /// A key has at least one byte, so that the empty text precedes all.
    func lanes(after key: String?, limit: Int) throws(StoreError) -> [LaneRow] {
        let found = try transaction.read(Self.lanesAfter, number, key ?? "", limit).rows { row in
            (lane: LaneRow(row), isOrdered: row[4] as Bool)
        }
        // A check trusts no order.
        for row in found {
            orderedKeys[row.lane.key] = false
            storedLanes[row.lane.key] = StoredLane(row.lane, isOrdered: row.isOrdered)
        }
        return found.map(\.lane)
    }

    // MARK: Waiters

    private static let addWaiter = PostgreSQLStatement(
        "add-waiter", "INSERT INTO waiter(shard, key, turn) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
    private static let removeWaiter = PostgreSQLStatement(
        "remove-waiter", "DELETE FROM waiter WHERE shard = $1 AND key = $2 AND turn = $3")
    private static let firstWaiter = PostgreSQLStatement(
        "first-waiter", "SELECT turn FROM waiter WHERE shard = $1 AND key = $2 AND turn > $3 ORDER BY turn LIMIT 1")
    private static let isWaiter = PostgreSQLStatement(
        "is-waiter", "SELECT 1 FROM waiter WHERE shard = $1 AND key = $2 AND turn = $3")
    private static let waitersBefore = PostgreSQLStatement(
        "waiters-before", "SELECT count(*) FROM waiter WHERE shard = $1 AND key = $2 AND turn < $3")
    private static let waitersBetween = PostgreSQLStatement(
        "waiters-between",
        """
        SELECT turn FROM waiter WHERE shard = $1 AND key = $2 AND turn > $3 AND turn < $4 ORDER BY turn LIMIT $5
        """)
    private static let nearestWaiter = PostgreSQLStatement(
        "nearest-waiter",
        "SELECT turn FROM waiter WHERE shard = $1 AND key = $2 AND turn < $3 ORDER BY turn DESC LIMIT 1")

    func knowWaiter(_ key: String, _ turn: Int64) { knownWaiters[key]?.know(turn) }

    func addWaiter(_ key: String, _ turn: Int64) throws(StoreError) {
        knownWaiters[key]?.save(turn)
        knownTails[key]?.insert(turn)
        firstWaiters[key] = nil
        try transaction.write(Self.addWaiter, number, key, turn)
        let holder = (lanes[key] ?? nil)?.holder
        guard orderedKeys[key] != false, holder.map({ turn <= $0 }) ?? (lanes[key] == nil) else { return }
        orderedKeys[key] = false
        storedLanes[key]?.row.isOrdered = false
        try transaction.write(Self.disorderLane, number, key)
    }

    func removeWaiter(_ key: String, _ turn: Int64) throws(StoreError) -> Bool {
        knownTails[key]?.remove(turn)
        if knownWaiters[key]?.knows(turn) == true {
            guard knownWaiters[key]?.remove(turn) == true else { return false }
            try transaction.write(Self.removeWaiter, number, key, turn)
            return true
        }
        return try transaction.read(Self.removeWaiter, number, key, turn).affectedRows > 0
    }

    func firstWaiter(_ key: String) throws(StoreError) -> Int64? {
        let first: Int64?
        if let known = knownWaiters[key]?.rows(after: .min, limit: 1) {
            first = known.first
        } else {
            let start = start(ofWaitersFor: key)
            first = try transaction.read(Self.firstWaiter, number, key, start).first { row in row[0] as Int64 }
        }
        firstWaiters[key] = .some(first)
        return first
    }

    func isWaiter(_ key: String, _ turn: Int64) throws(StoreError) -> Bool {
        if let known = knownTails[key]?.contains(turn) { return known }
        if let known = knownWaiters[key], known.knows(turn) { return known.rows.contains(turn) }
        return try transaction.read(Self.isWaiter, number, key, turn).count > 0
    }

    func waiters(_ key: String, before turn: Int64) throws(StoreError) -> Int {
        try transaction.read(Self.waitersBefore, number, key, turn).first { row in row[0] as Int } ?? 0
    }

    func waiters(_ key: String, after first: Int64, before turn: Int64, limit: Int) throws(StoreError) -> [Int64] {
        if let known = knownTails[key]?.turns(after: first, before: turn, limit: limit) { return known }
        return try transaction.read(Self.waitersBetween, number, key, first, turn, limit).rows { row in
            row[0] as Int64
        }
    }

    func waiter(_ key: String, nearestBefore turn: Int64) throws(StoreError) -> Int64? {
        if let known = knownTails[key]?.nearest(before: turn) { return known }
        return try transaction.read(Self.nearestWaiter, number, key, turn).first { row in row[0] as Int64 }
    }

    // MARK: Checks

    /// Commands that have not ended, or hold their key all the same, and do not wait for it.
    private static let keyHolders = """
        FROM (SELECT id, turn, status, relations FROM ready WHERE shard = $1
            UNION ALL SELECT id, turn, status, relations FROM parked WHERE shard = $1
            UNION ALL SELECT id, turn, status, relations FROM running WHERE shard = $1
            UNION ALL SELECT id, turn, status, relations FROM ended
                WHERE shard = $1 AND status = 10 AND relations & \(CommandRelations.holdsKeyOnFailure.rawValue) <> 0) s
        JOIN LATERAL (SELECT ordering_key FROM command WHERE id = s.id LIMIT 1) c ON true
        WHERE s.relations & \(CommandRelations.lane.rawValue) <> 0 AND c.ordering_key IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM waiter w WHERE w.shard = $1 AND w.key = c.ordering_key AND w.turn = s.turn)
        """
    private static let openByKey = PostgreSQLStatement(
        "open-by-key", "SELECT c.ordering_key, count(*) \(keyHolders) GROUP BY c.ordering_key")
    private static let keysWithoutLane = PostgreSQLStatement(
        "keys-without-lane",
        """
        SELECT DISTINCT key FROM waiter w WHERE shard = $1
        AND NOT EXISTS (SELECT 1 FROM lane l WHERE l.shard = $1 AND l.key = w.key) ORDER BY key
        """)
    private static let blockedHolders = PostgreSQLStatement(
        "blocked-holders", "SELECT s.turn \(keyHolders) AND s.status = 6 ORDER BY s.turn")

    func openByKey() throws(StoreError) -> [String: Int] {
        try flush()
        let counts = try transaction.read(Self.openByKey, number).rows { row in (row[0] as String, row[1] as Int) }
        return Dictionary(uniqueKeysWithValues: counts)
    }

    func keysWithoutLane() throws(StoreError) -> [String] {
        try transaction.read(Self.keysWithoutLane, number).rows { row in row[0] as String }
    }

    func blockedHolders() throws(StoreError) -> [Int64] {
        try flush()
        return try transaction.read(Self.blockedHolders, number).rows { row in row[0] as Int64 }
    }
}

/// An ordering key as the tables have it: the row of `lane`, and the turn in `lane_holder`.
struct StoredLane {
    struct Row: Equatable {
        var limit: Int
        var open: Int
        var isOrdered: Bool
    }

    var row: Row
    var holder: Int64?

    init(_ lane: LaneRow, isOrdered: Bool) {
        row = Row(limit: lane.limit, open: lane.open, isOrdered: isOrdered)
        holder = lane.holder
    }
}

extension LaneRow {
    init(_ row: borrowing PostgreSQLRow) {
        self.init(key: row[0], limit: row[1], open: row[2], holder: row[3] as Int64?)
    }
}
