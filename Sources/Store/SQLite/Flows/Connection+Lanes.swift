internal import Commands

/// The rows of ordering keys.
extension Connection {
    func lane(_ key: String) throws(StoreError) -> LaneRow? {
        try statement(.lane, key).first(LaneRow.init)
    }

    func save(_ lane: LaneRow) throws(StoreError) {
        try statement(.saveLane, lane.key, lane.limit, lane.open, lane.holder).run()
    }

    func remove(_ lane: LaneRow) throws(StoreError) { try statement(.removeLane, lane.key).run() }

    func lanes(after key: String?, limit: Int) throws(StoreError) -> [LaneRow] {
        try statement(.lanesAfter, key, limit).rows(LaneRow.init)
    }

    // MARK: Waiters

    func addWaiter(_ key: String, _ turn: Int64) throws(StoreError) { try statement(.addWaiter, key, turn).run() }

    func removeWaiter(_ key: String, _ turn: Int64) throws(StoreError) -> Bool {
        try statement(.removeWaiter, key, turn).run()
        return changedRows > 0
    }

    func firstWaiter(_ key: String) throws(StoreError) -> Int64? {
        try statement(.firstWaiter, key).first { $0.int64(0) }
    }

    func isWaiter(_ key: String, _ turn: Int64) throws(StoreError) -> Bool {
        try statement(.isWaiter, key, turn).hasRow()
    }

    func waiters(_ key: String, before turn: Int64) throws(StoreError) -> Int {
        try statement(.waitersBefore, key, turn).first { $0.int(0) } ?? 0
    }

    func waiters(_ key: String, after first: Int64, before turn: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try statement(.waitersBetween, key, first, turn, limit).rows { $0.int64(0) }
    }

    func waiter(_ key: String, nearestBefore turn: Int64) throws(StoreError) -> Int64? {
        try statement(.nearestWaiter, key, turn).first { $0.int64(0) }
    }

    // MARK: Checks

    func openByKey() throws(StoreError) -> [String: Int] {
        let statement = try Statement(
            """
            SELECT ordering_key, count(*) FROM command WHERE relations & \(CommandRelations.lane.rawValue) AND ordering_key IS NOT NULL
            AND (status NOT IN (4, 5, 10) OR status = 10 AND relations & \(CommandRelations.holdsKeyOnFailure.rawValue))
            AND NOT EXISTS (SELECT 1 FROM waiter WHERE key = ordering_key AND waiter.turn = command.turn)
            GROUP BY ordering_key
            """, sharing: self)
        var counts: [String: Int] = [:]
        while try statement.step() { counts[statement.text(0)] = statement.int(1) }
        return counts
    }

    func keysWithoutLane() throws(StoreError) -> [String] {
        try Statement(
            "SELECT DISTINCT key FROM waiter WHERE key NOT IN (SELECT key FROM lane) ORDER BY key", sharing: self
        ).rows { $0.text(0) }
    }

    func blockedHolders() throws(StoreError) -> [Int64] {
        try Statement(
            """
            SELECT turn FROM command WHERE status = 6 AND relations & \(CommandRelations.lane.rawValue) AND ordering_key IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM waiter WHERE key = ordering_key AND waiter.turn = command.turn) ORDER BY turn
            """, sharing: self
        ).rows { $0.int64(0) }
    }
}

extension LaneRow {
    fileprivate init(_ row: Statement) {
        self.init(key: row.text(0), limit: row.int(1), open: row.int(2), holder: row.optionalInt64(3))
    }
}
