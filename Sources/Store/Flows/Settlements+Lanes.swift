internal import Commands

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
