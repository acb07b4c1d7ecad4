internal import Commands

/// Counts the relations of commands anew, and compares them with what is stored.
struct RelationCheck<Rows: RelationRows> {
    private var recount: RelationRecount<Rows>
    private(set) var problems: [String] = []
    /// Effects are still to be written, so states may lag behind.
    private var isSettling = false

    /// Problems that are reported.
    private static var maxProblems: Int { 100 }

    init(_ rows: Rows) { recount = RelationRecount(rows) }

    mutating func run() throws(StoreError) {
        isSettling = try recount.rows.cascade() != nil
        var after: Int64 = 0
        while problems.count < Self.maxProblems {
            let page = try recount.rows.nodes(after: after, limit: 1000)
            guard let last = page.last else {
                try checkLanes()
                return try checkParts()
            }
            for node in page { try check(node) }
            after = last.turn
        }
    }

    private mutating func checkLanes() throws(StoreError) {
        var counts = try recount.rows.openByKey()
        var after: String?
        while problems.count < Self.maxProblems {
            let page = try recount.rows.lanes(after: after, limit: 1000)
            guard let last = page.last else { break }
            after = last.key
            for lane in page {
                let open = counts.removeValue(forKey: lane.key) ?? 0
                if lane.open != open {
                    problems.append("the ordering key “\(lane.key)” counts \(lane.open) commands, and \(open) hold it")
                }
                guard let turn = try recount.rows.firstWaiter(lane.key) else { continue }
                if lane.open < lane.limit {
                    problems.append("the ordering key “\(lane.key)” is free, and commands wait for it")
                }
                if try recount.rows.command(turn: turn)?.command.status != .blocked {
                    problems.append("turn \(turn) waits for the ordering key “\(lane.key)”, and is not blocked")
                }
            }
        }
        for (key, open) in counts.sorted(by: { $0.key < $1.key }) {
            problems.append("the ordering key “\(key)” has no row, and \(open) commands hold it")
        }
        for key in try recount.rows.keysWithoutLane() where counts[key] == nil {
            problems.append("the ordering key “\(key)” has no row, and commands wait for it")
        }
        guard !isSettling else { return }
        for turn in try recount.rows.blockedHolders() {
            // The check of nodes has reported the others.
            guard let row = try recount.rows.command(turn: turn), !row.relations.contains(.node) else { continue }
            let isStuck = try recount.isBlockedByNothing(row, nil)
            expect(!isStuck, row, "is blocked by nothing")
        }
    }

    private mutating func checkParts() throws(StoreError) {
        var after: Int64 = 0
        while problems.count < Self.maxProblems {
            let page = try recount.rows.parts(after: after, limit: 1000)
            guard let last = page.last else { return }
            after = last.number
            for part in page where part.state != .ended {
                let open = try recount.openMembers(of: part.batch)
                if part.open != open {
                    problems.append(
                        "batch \(part.batch) counts \(part.open) members that have not ended, and there are \(open)")
                }
                if part.open == 0, part.state != .open {
                    problems.append("batch \(part.batch) takes no more members, and its end is not told")
                }
            }
        }
    }

    private mutating func check(_ node: NodeRow) throws(StoreError) {
        guard let row = try recount.rows.command(turn: node.turn) else {
            return problems.append("node \(node.turn) has no command")
        }
        if row.relations.contains(.flow) { return try checkFlow(row, node) }
        try checkDependencies(row, node)
    }

    private mutating func checkDependencies(_ row: StoredCommand, _ node: NodeRow) throws(StoreError) {
        let dependencies = try recount.rows.dependencies(of: node.turn)
        let remote = try recount.rows.remoteDependencies(of: node.turn)
        let open = try recount.openDependencies(of: node.turn)
        expect(
            node.pending == open, row, "waits for \(node.pending), and \(open) of its dependencies are not satisfied")
        for dependency in dependencies {
            let parent = try recount.rows.command(turn: abs(dependency.parent))
            if parent == nil, dependency.parent > 0 {
                expect(false, row, "waits for turn \(dependency.parent), which has no command")
            }
            guard !isSettling, let parent, try recount.correction(of: dependency) != nil else { continue }
            let what =
                dependency.parent < 0
                ? "the start of its flow" : "\(parent.id), which is \(parent.command.status)"
            expect(false, row, "has the state \(dependency.state) for \(what)")
        }
        let isUnsatisfiable =
            dependencies.contains { $0.state == .unsatisfiable } || remote.contains { $0.state == .unsatisfiable }
        switch row.command.status {
        case .blocked:
            let isFree = try recount.isBlockedByNothing(row, node)
            expect(isSettling || !isFree && !isUnsatisfiable, row, "is blocked by nothing")
        case .cancelled: break
        case .new, .queued, .sent, .error, .success, .inDoubt, .tooManyTimes:
            expect(open == 0, row, "is \(row.command.status) before what it waits for")
        }
    }

    private mutating func checkFlow(_ row: StoredCommand, _ node: NodeRow) throws(StoreError) {
        guard let flow = try recount.rows.flow(node.turn) else { return expect(false, row, "has no flow row") }
        let found = try recount.flow(node.turn)
        // It is being pruned.
        if found.nodes < flow.nodes, row.command.status.isEnd { return }
        expect(found.nodes == flow.nodes, row, "has \(found.nodes) nodes, and \(flow.nodes) were submitted")
        expect(
            node.pending == found.open, row,
            "counts \(node.pending) nodes that have not ended, and there are \(found.open)")
        expect(flow.failed == found.failed, row, "counts \(flow.failed) failed nodes, and there are \(found.failed)")
        guard !isSettling else { return }
        switch row.command.status {
        case .blocked: expect(found.open > 0, row, "waits for no node")
        case .success: expect(found.failed == 0, row, "is a success with \(found.failed) failed nodes")
        case .cancelled, .tooManyTimes: expect(found.open == 0, row, "has ended before \(found.open) of its nodes")
        case .new, .queued, .sent, .error, .inDoubt: expect(false, row, "is \(row.command.status)")
        }
    }

    private mutating func expect(_ isTrue: Bool, _ row: StoredCommand, _ problem: String) {
        if !isTrue { problems.append("command \(row.id) \(problem)") }
    }
}

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
