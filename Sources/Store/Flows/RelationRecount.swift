internal import Commands

/// Counts the relations of commands anew, from the rows that the numbers are made of. It only reads.
struct RelationRecount<Rows: RelationRows> {
    var rows: Rows

    init(_ rows: Rows) { self.rows = rows }

    struct Flow: Equatable {
        var nodes = 0
        /// Nodes that have not ended.
        var open = 0
        var failed = 0
        /// The turn of the first of them.
        var firstFailed: Int64?
    }

    /// The nodes of a flow, without callbacks.
    mutating func flow(_ turn: Int64) throws(StoreError) -> Flow {
        var found = Flow()
        var after: Int64 = 0
        while true {
            let page = try rows.nodes(of: turn, after: after, limit: 1000)
            guard let last = page.last else { return found }
            after = last
            for turn in page {
                guard let member = try rows.node(turn), !member.flags.contains(.callback),
                    let command = try rows.command(turn: turn)?.command
                else { continue }
                found.nodes += 1
                if !command.status.isEnd {
                    found.open += 1
                } else if command.status != .success, member.flags.isDisjoint(with: [.mayFail, .notNeeded]) {
                    found.failed += 1
                    if found.firstFailed == nil { found.firstFailed = turn }
                }
            }
        }
    }

    /// The dependencies of a command that are not satisfied, on commands of all shards.
    mutating func openDependencies(of turn: Int64) throws(StoreError) -> Int {
        try rows.dependencies(of: turn).count { $0.state != .satisfied }
            + rows.remoteDependencies(of: turn).count { $0.state != .satisfied }
    }

    /// The members of a batch in this shard that have not ended.
    mutating func openMembers(of batch: CommandID) throws(StoreError) -> Int {
        var (count, after) = (0, Int64(0))
        while true {
            let page = try rows.members(of: batch, after: after, limit: 1000)
            guard let last = page.last else { return count }
            after = last
            for turn in page where try !(rows.command(turn: turn)?.command.status.isEnd ?? true) { count += 1 }
        }
    }

    /// The state that a dependency must have; nil where the one that it has is right, or where the parent is gone.
    mutating func correction(of dependency: DependencyRow) throws(StoreError) -> DependencyRow.State? {
        if dependency.parent < 0 { return try correction(ofStart: dependency) }
        guard let parent = try rows.command(turn: dependency.parent) else { return nil }
        let flags = try rows.node(dependency.parent)?.flags ?? []
        let outcome = ParentOutcome(parent.command.status, flags)
        let state = DependencyRow.State.initialState(dependency.condition, outcome)
        // A failure that was retried since keeps what it has satisfied.
        let mayStay = dependency.condition != .success || flags.contains(.mayFail)
        return dependency.state == state || dependency.state == .satisfied && mayStay ? nil : state
    }

    /// Of a node that waits until its flow has its ordering key.
    private mutating func correction(ofStart dependency: DependencyRow) throws(StoreError) -> DependencyRow.State? {
        guard let flow = try rows.command(turn: -dependency.parent), !flow.command.status.isEnd else { return nil }
        let waits = try flow.key.map { key throws(StoreError) in try rows.isWaiter(key, -dependency.parent) } ?? false
        let state = waits ? DependencyRow.State.open : .satisfied
        return dependency.state == state ? nil : state
    }

    /// Whether a blocked command waits for nothing that is still to come.
    /// - Parameter node: its row; nil where it waits for its ordering key only.
    mutating func isBlockedByNothing(_ row: StoredCommand, _ node: NodeRow?) throws(StoreError) -> Bool {
        guard row.command.status == .blocked, !row.relations.contains(.flow) else { return false }
        if let node, try openDependencies(of: node.turn) > 0 { return false }
        return try !(row.key.map { key throws(StoreError) in try rows.isWaiter(key, row.command.turn) } ?? false)
    }
}
