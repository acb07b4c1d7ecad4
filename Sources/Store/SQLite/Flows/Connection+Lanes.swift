internal import Commands

/// The rows of ordering keys.
extension Connection {
    func lane(_ key: String) throws(StoreError) -> LaneRow? {
        let statement = try statement(.lane)
        statement.bind(key, at: 1)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return LaneRow(key: key, limit: statement.int(0), open: statement.int(1), holder: statement.optionalInt64(2))
    }

    func save(_ lane: LaneRow) throws(StoreError) {
        let statement = try statement(.saveLane)
        statement.bind(lane.key, at: 1)
        statement.bind(lane.limit, at: 2)
        statement.bind(lane.open, at: 3)
        statement.bind(lane.holder, at: 4)
        try statement.run()
    }

    func remove(_ lane: LaneRow) throws(StoreError) {
        let statement = try statement(.removeLane)
        statement.bind(lane.key, at: 1)
        try statement.run()
    }

    func addWaiter(_ key: String, _ turn: Int64) throws(StoreError) {
        let statement = try statement(.addWaiter)
        statement.bind(key, at: 1)
        statement.bind(turn, at: 2)
        try statement.run()
    }

    func removeWaiter(_ key: String, _ turn: Int64) throws(StoreError) -> Bool {
        let statement = try statement(.removeWaiter)
        statement.bind(key, at: 1)
        statement.bind(turn, at: 2)
        try statement.run()
        return changedRows > 0
    }

    func firstWaiter(_ key: String) throws(StoreError) -> Int64? {
        let statement = try statement(.firstWaiter)
        statement.bind(key, at: 1)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return statement.int64(0)
    }

    func isWaiter(_ key: String, _ turn: Int64) throws(StoreError) -> Bool {
        let statement = try statement(.isWaiter)
        statement.bind(key, at: 1)
        statement.bind(turn, at: 2)
        defer { statement.reset() }
        return try statement.step()
    }

    func waiters(_ key: String, before turn: Int64) throws(StoreError) -> Int {
        let statement = try statement(.waitersBefore)
        statement.bind(key, at: 1)
        statement.bind(turn, at: 2)
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : 0
    }

    func lanes(after key: String?, limit: Int) throws(StoreError) -> [LaneRow] {
        let statement = try statement(.lanesAfter)
        statement.bind(key, at: 1)
        statement.bind(limit, at: 2)
        defer { statement.reset() }
        var lanes: [LaneRow] = []
        while try statement.step() {
            lanes.append(
                LaneRow(
                    key: statement.text(0), limit: statement.int(1), open: statement.int(2),
                    holder: statement.optionalInt64(3)))
        }
        return lanes
    }

    func openByKey() throws(StoreError) -> [String: Int] {
        let statement = try Statement(
            """
            SELECT ordering_key, count(*) FROM command WHERE relations & \(CommandRelations.lane.rawValue) AND ordering_key IS NOT NULL
            AND status NOT IN (4, 5, 10) AND NOT EXISTS (SELECT 1 FROM waiter WHERE key = ordering_key AND waiter.turn = command.turn)
            GROUP BY ordering_key
            """, sharing: self)
        var counts: [String: Int] = [:]
        while try statement.step() { counts[statement.text(0)] = statement.int(1) }
        return counts
    }

    func keysWithoutLane() throws(StoreError) -> [String] {
        let statement = try Statement(
            "SELECT DISTINCT key FROM waiter WHERE key NOT IN (SELECT key FROM lane) ORDER BY key", sharing: self)
        var keys: [String] = []
        while try statement.step() { keys.append(statement.text(0)) }
        return keys
    }

    func blockedHolders() throws(StoreError) -> [Int64] {
        let statement = try Statement(
            """
            SELECT turn FROM command WHERE status = 6 AND relations & \(CommandRelations.lane.rawValue) AND ordering_key IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM waiter WHERE key = ordering_key AND waiter.turn = command.turn) ORDER BY turn
            """, sharing: self)
        var turns: [Int64] = []
        while try statement.step() { turns.append(statement.int64(0)) }
        return turns
    }
}
