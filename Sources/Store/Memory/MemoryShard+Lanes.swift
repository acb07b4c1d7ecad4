internal import Commands

/// The rows of ordering keys.
extension MemoryShard {
    func lane(_ key: String) -> LaneRow? { lanes[key] }
    mutating func save(_ lane: LaneRow) { lanes[lane.key] = lane }
    mutating func remove(_ lane: LaneRow) { lanes[lane.key] = nil }

    func lanes(after key: String?, limit: Int) -> [LaneRow] {
        func isAfter(_ other: String, _ key: String) -> Bool { key.utf8.lexicographicallyPrecedes(other.utf8) }
        let found = lanes.values.filter { lane in key.map { isAfter(lane.key, $0) } ?? true }
        return Array(found.sorted { isAfter($1.key, $0.key) }.prefix(limit))
    }

    mutating func addWaiter(_ key: String, _ turn: Int64) { waiters[key, default: []].insert(turn) }

    mutating func removeWaiter(_ key: String, _ turn: Int64) -> Bool {
        guard waiters[key]?.remove(turn) != nil else { return false }
        if waiters[key]?.isEmpty == true { waiters[key] = nil }
        return true
    }

    func firstWaiter(_ key: String) -> Int64? { waiters[key]?.min() }
    func isWaiter(_ key: String, _ turn: Int64) -> Bool { waiters[key]?.contains(turn) ?? false }
    func waiters(_ key: String, before turn: Int64) -> Int { waiters[key]?.count { $0 < turn } ?? 0 }
    func waiters(_ key: String, after first: Int64, before turn: Int64, limit: Int) -> [Int64] {
        Array(waiters[key, default: []].filter { $0 > first && $0 < turn }.sorted().prefix(limit))
    }
    func waiter(_ key: String, nearestBefore turn: Int64) -> Int64? { waiters[key]?.filter { $0 < turn }.max() }

    func openByKey() -> [String: Int] {
        var counts: [String: Int] = [:]
        for row in rows.values where !row.command.status.isEnd || row.holdsKey {
            if let key = row.key, !isWaiter(key, row.command.turn) { counts[key, default: 0] += 1 }
        }
        return counts
    }

    func keysWithoutLane() -> [String] { waiters.keys.filter { lanes[$0] == nil }.sorted() }

    func blockedHolders() -> [Int64] {
        rows.values.filter { row in
            row.command.status == .blocked && row.key.map { !isWaiter($0, row.command.turn) } ?? false
        }.map(\.command.turn).sorted()
    }
}
