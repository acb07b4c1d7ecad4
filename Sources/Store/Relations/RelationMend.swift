internal import Commands

/// Sets right what ``RelationCheck`` finds, within one transaction. Pure.
///
/// First the numbers: ``Settlements`` adds to them, so they must be true before a command changes. Then the states of
/// dependencies, and at last what was missed meanwhile: commands that can run, flows that have ended, keys that are free.
struct RelationMend<Rows: RelationRows> {
    private(set) var settlements: Settlements<Rows>
    private(set) var changes: [String] = []
    /// Flows that stop at a failure, and whose failures were not counted.
    private var stopping: [Int64] = []

    /// More than a transaction ever changes.
    private static var noLimit: Int { .max >> 1 }

    init(_ rows: Rows, shard: Int, now: Timestamp) {
        settlements = Settlements(rows, shard: shard, now: now, limit: Self.noLimit)
    }

    mutating func run() throws(StoreError) {
        try removeStaleWaiters()
        try restoreWaiters()
        try countKeys()
        try forEachNode { (self, node, row) throws(StoreError) in
            if row.relations.contains(.flow) {
                try self.countFlow(node, row)
            } else {
                try self.countDependencies(node, row)
            }
        }
        try settlements.runPostponed()
        try forEachNode { (self, node, row) throws(StoreError) in
            if !row.relations.contains(.flow) { try self.correctStates(node, row) }
        }
        try settlements.run()
        try forEachNode { (self, node, row) throws(StoreError) in try self.goOn(node, row) }
        for turn in stopping { settlements.work.append(CascadeRow(turn: turn, step: .cancel, after: 0)) }
        try settlements.run()
        try grantKeys()
        try settlements.run()
        try countParts()
    }

    private mutating func note(_ row: StoredCommand, _ change: String) {
        changes.append("command \(row.id) \(change)")
    }

    private mutating func forEachNode(
        _ body: (inout Self, NodeRow, StoredCommand) throws(StoreError) -> Void
    ) throws(StoreError) {
        var after: Int64 = 0
        while true {
            let page = try settlements.rows.nodes(after: after, limit: 1000)
            guard let last = page.last else { return }
            after = last.turn
            for turn in page.map(\.turn) {
                // As it is after the ones before.
                guard let node = try settlements.rows.node(turn), let row = try settlements.rows.command(turn: turn)
                else { continue }
                try body(&self, node, row)
            }
        }
    }

    // MARK: Numbers

    private mutating func countDependencies(_ node: NodeRow, _ row: StoredCommand) throws(StoreError) {
        var recount = RelationRecount(settlements.rows)
        let open = try recount.openDependencies(of: node.turn)
        guard node.pending != open else { return }
        var node = node
        note(row, "waited for \(node.pending) commands, and waits for \(open) now")
        node.pending = open
        try settlements.rows.save(node)
    }

    private mutating func countFlow(_ node: NodeRow, _ row: StoredCommand) throws(StoreError) {
        guard var flow = try settlements.rows.flow(node.turn) else { return }
        var recount = RelationRecount(settlements.rows)
        let found = try recount.flow(node.turn)
        // It is being pruned.
        if found.nodes < flow.nodes, row.command.status.isEnd { return }
        if node.pending != found.open {
            var node = node
            note(row, "counted \(node.pending) nodes that have not ended, and counts \(found.open) now")
            node.pending = found.open
            try settlements.rows.save(node)
        }
        guard flow.failed != found.failed else { return }
        note(row, "counted \(flow.failed) failed nodes, and counts \(found.failed) now")
        if flow.failed == 0, flow.stopsOnFailure, row.command.status == .blocked { stopping.append(node.turn) }
        flow.failed = found.failed
        flow.firstFailed = found.firstFailed
        try settlements.rows.save(flow)
    }

    /// The members of batches in this shard that have not ended. Those that failed may be pruned, so they stay as counted.
    private mutating func countParts() throws(StoreError) {
        var after: Int64 = 0
        while true {
            let page = try settlements.rows.parts(after: after, limit: 1000)
            guard let last = page.last else { return }
            after = last.number
            for var part in page where part.state != .ended {
                var recount = RelationRecount(settlements.rows)
                let open = try recount.openMembers(of: part.batch)
                if part.open != open {
                    changes.append("batch \(part.batch) counted \(part.open) open members, and counts \(open) now")
                    part.open = open
                    try settlements.rows.save(part)
                }
                guard part.open == 0, part.state != .open else { continue }
                changes.append("batch \(part.batch) is told of the end of its members in this shard")
                try BatchPart.end(part, shard: settlements.shard, &settlements.rows)
            }
        }
    }

    // MARK: States

    private mutating func correctStates(_ node: NodeRow, _ row: StoredCommand) throws(StoreError) {
        // A command that has started cannot wait again.
        guard row.command.status == .blocked || row.command.status == .cancelled else { return }
        var isChanged = false
        for var dependency in try settlements.rows.dependencies(of: node.turn) {
            var recount = RelationRecount(settlements.rows)
            guard let state = try recount.correction(of: dependency) else {
                if dependency.state == .unsatisfiable, dependency.parent > 0, row.command.status == .blocked {
                    note(row, "waited for a command that cannot let it run")
                    try cancel(dependency)
                }
                continue
            }
            let old = dependency.state
            note(row, "had the state \(old) for turn \(dependency.parent), and has \(state) now")
            dependency.state = state
            try settlements.rows.save(dependency)
            isChanged = true
            if state == .unsatisfiable {
                try cancel(dependency)
            } else if old == .unsatisfiable {
                try settlements.revive(node.turn, from: dependency.parent)
            }
        }
        guard isChanged, var changed = try settlements.rows.node(node.turn) else { return }
        var recount = RelationRecount(settlements.rows)
        changed.pending = try recount.openDependencies(of: node.turn)
        try settlements.rows.save(changed)
    }

    /// A dependency can never be satisfied.
    private mutating func cancel(_ dependency: DependencyRow) throws(StoreError) {
        guard let parent = try settlements.rows.command(turn: dependency.parent) else { return }
        let node = try settlements.rows.node(dependency.parent)
        guard let outcome = ParentOutcome(parent.command.status, node?.flags ?? []) else { return }
        try settlements.cancel(
            dependency, after: parent, node, isUnneeded: outcome.makesUnneeded(dependency.condition))
    }

    // MARK: Missed effects

    private mutating func goOn(_ node: NodeRow, _ row: StoredCommand) throws(StoreError) {
        guard row.relations.contains(.flow) else {
            var recount = RelationRecount(settlements.rows)
            guard try recount.isBlockedByNothing(row, node) else { return }
            note(row, "was blocked by nothing, and goes on")
            return try settlements.release(node)
        }
        let isMissed =
            switch row.command.status {
            case .blocked: node.pending == 0
            case .cancelled, .tooManyTimes: node.pending > 0
            case .new, .queued, .sent, .error, .success, .inDoubt: false
            }
        guard isMissed else { return }
        note(
            row,
            node.pending == 0
                ? "waited for nodes that have ended, and ends" : "had ended before its nodes, and waits again")
        settlements.flowChanges[node.turn, default: .init()].ended += 0
    }

    // MARK: Ordering keys

    /// Removes commands from the heads of queues that do not wait any more.
    private mutating func removeStaleWaiters() throws(StoreError) {
        for key in try keys() {
            while let turn = try settlements.rows.firstWaiter(key) {
                let row = try settlements.rows.command(turn: turn)
                guard row?.command.status != .blocked else { break }
                _ = try settlements.rows.removeWaiter(key, turn)
                changes.append("turn \(turn) waited for the ordering key “\(key)” without being blocked, and leaves it")
            }
        }
    }

    /// Puts commands back that are in no queue and have no place among the holders of their key, so that all keep their
    /// order.
    private mutating func restoreWaiters() throws(StoreError) {
        var counts = try settlements.rows.openByKey()
        for turn in try settlements.rows.blockedHolders().reversed() {
            guard let row = try settlements.rows.command(turn: turn), let key = row.key else { continue }
            let limit = try settlements.rows.lane(key)?.limit ?? 1
            guard counts[key] ?? 0 > limit, try hasNotStarted(row) else { continue }
            counts[key, default: 0] -= 1
            try settlements.rows.addWaiter(key, turn)
            note(row, "was not in the queue of its ordering key “\(key)”, and waits there now")
        }
    }

    private mutating func hasNotStarted(_ row: StoredCommand) throws(StoreError) -> Bool {
        let turn = row.command.turn
        if row.relations.contains(.flow) {
            return try settlements.rows.dependants(of: -turn, after: 0, limit: 1).first?.state == .open
        }
        var recount = RelationRecount(settlements.rows)
        return try recount.isBlockedByNothing(row, settlements.rows.node(turn))
    }

    private mutating func countKeys() throws(StoreError) {
        let counts = try settlements.rows.openByKey()
        for key in try Set(keys()).union(counts.keys).sorted() {
            let open = counts[key] ?? 0
            let stored = try settlements.rows.lane(key)
            var lane = stored ?? LaneRow(key: key, limit: 1, open: 0)
            let waiter = try settlements.rows.firstWaiter(key)
            let isUsed = open > 0 || waiter != nil
            guard lane.open != open || (stored != nil) != isUsed else { continue }
            changes.append("the ordering key “\(key)” counted \(lane.open) commands, and counts \(open) now")
            lane.open = open
            if isUsed { try settlements.rows.save(lane) } else { try settlements.rows.remove(lane) }
        }
    }

    private mutating func grantKeys() throws(StoreError) {
        for turn in try settlements.rows.blockedHolders() {
            guard let row = try settlements.rows.command(turn: turn), !row.relations.contains(.flow) else { continue }
            var recount = RelationRecount(settlements.rows)
            guard try recount.isBlockedByNothing(row, settlements.rows.node(turn)) else { continue }
            note(row, "was blocked by nothing, and goes on")
            try settlements.grantKey(turn)
        }
        for key in try keys() {
            let granted = try Lanes.leave(key, nil, &settlements.rows)
            for turn in granted {
                changes.append("turn \(turn) waited for the ordering key “\(key)”, which was free, and has it now")
                try settlements.grantKey(turn)
            }
        }
    }

    /// Those with a row, and those that commands wait for.
    private mutating func keys() throws(StoreError) -> [String] {
        var keys = try settlements.rows.keysWithoutLane()
        var after: String?
        while true {
            let page = try settlements.rows.lanes(after: after, limit: 1000)
            guard let last = page.last else { return keys }
            keys += page.map(\.key)
            after = last.key
        }
    }
}
