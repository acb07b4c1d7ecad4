internal import Commands

/// The queues of ordering keys. Pure: both stores do what this decides.
///
/// A command enters the queue of its key at its submit, also while it waits for other commands, and leaves it at its end:
/// success, cancelled or given up. In between, in backoff or in doubt, it holds its place. So the commands of a key run one
/// after the other, in the order of their turns. A command with ``CommandRelations/holdsKeyOnFailure`` that is given up
/// leaves the queue only when a person cancels it.
enum Lanes {
    /// - Parameter limit: of the key; nil leaves it.
    /// - Returns: whether the command has the key. Otherwise it waits for it.
    static func enter<Rows: RelationRows>(
        _ key: String, _ turn: Int64, limit: Int?, _ rows: inout Rows
    ) throws(StoreError) -> Bool {
        var lane = try rows.lane(key) ?? LaneRow(key: key, limit: 1, open: 0)
        if let limit { lane.limit = max(limit, 1) }
        // Where the limit was raised, those that wait go first.
        let hasWaiters = try rows.firstWaiter(key) != nil
        let isFree = lane.open < lane.limit && !hasWaiters
        if isFree {
            lane.open += 1
            lane.holder = turn
        } else {
            try rows.addWaiter(key, turn)
        }
        try rows.save(lane)
        return isFree
    }

    /// A command has the key, whatever its limit.
    static func hold<Rows: RelationRows>(_ key: String, _ turn: Int64, _ rows: inout Rows) throws(StoreError) {
        var lane = try rows.lane(key) ?? LaneRow(key: key, limit: 1, open: 0)
        lane.open += 1
        lane.holder = turn
        try rows.save(lane)
    }

    /// Lets the next commands have the key, as many as may.
    /// - Parameter turn: of the command that leaves; nil where the limit was raised.
    /// - Returns: the turns of the commands that have the key now.
    static func leave<Rows: RelationRows>(
        _ key: String, _ turn: Int64?, _ rows: inout Rows
    ) throws(StoreError) -> [Int64] {
        guard var lane = try rows.lane(key) else { return [] }
        if let turn {
            // It waited itself, and was cancelled.
            if try rows.removeWaiter(key, turn) {
                try close(lane, &rows)
                return []
            }
            lane.open = max(lane.open - 1, 0)
        }
        var granted: [Int64] = []
        while lane.open < lane.limit, let next = try rows.firstWaiter(key) {
            _ = try rows.removeWaiter(key, next)
            lane.open += 1
            lane.holder = next
            granted.append(next)
        }
        try rows.save(lane)
        try close(lane, &rows)
        return granted
    }

    /// Removes the row of a key that no command has.
    private static func close<Rows: RelationRows>(_ lane: LaneRow, _ rows: inout Rows) throws(StoreError) {
        guard lane.open == 0 else { return }
        if try rows.firstWaiter(lane.key) == nil { try rows.remove(lane) }
    }
}

/// The effects on the queues of ordering keys.
extension Settlements {
    /// A command leaves the queue of its key, or awaits it; the next ones get it.
    mutating func leaveLane(_ turn: Int64, isEnd: Bool) throws(StoreError) {
        guard let key = try rows.command(turn: turn)?.key else { return }
        for next in try Lanes.leave(key, isEnd ? turn : nil, &rows) { try grantKey(next) }
    }

    /// A command has its ordering key now.
    mutating func grantKey(_ turn: Int64) throws(StoreError) {
        left -= 1
        guard var row = try rows.command(turn: turn), row.command.status == .blocked else { return }
        if row.relations.contains(.flow) {
            startFlow(turn)
            return
        }
        let pending = row.relations.contains(.node) ? try rows.node(turn)?.pending ?? 0 : 0
        if pending == 0 { try unblock(&row) }
    }

    mutating func startFlow(_ turn: Int64) { work.append(CascadeRow(turn: -turn, step: .settle, after: 0)) }

    /// A flow has its ordering key: its first nodes run. They depend on the start of the flow, whose turn is negative.
    mutating func start(_ cascade: CascadeRow) throws(StoreError) {
        let page = try rows.dependants(of: cascade.turn, after: cascade.after, limit: pageSize)
        for var dependency in page where dependency.state == .open {
            dependency.state = .satisfied
            try rows.save(dependency)
            satisfied[dependency.child, default: 0] += 1
        }
        try step(cascade, over: page.map(\.child)) { (_: inout Self, _: Int64) throws(StoreError) in }
    }
}
