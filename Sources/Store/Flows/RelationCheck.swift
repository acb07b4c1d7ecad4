internal import Commands

/// Counts the relations of commands anew, and compares them with what is stored.
struct RelationCheck<Rows: RelationRows> {
    var rows: Rows
    private(set) var problems: [String] = []
    /// Effects are still to be written, so states may lag behind.
    private var isSettling = false

    /// Problems that are reported.
    private static var maxProblems: Int { 100 }

    init(_ rows: Rows) { self.rows = rows }

    mutating func run() throws(StoreError) {
        isSettling = try rows.cascade() != nil
        var after: Int64 = 0
        while problems.count < Self.maxProblems {
            let page = try rows.nodes(after: after, limit: 1000)
            guard let last = page.last else {
                try checkLanes()
                return try checkParts()
            }
            for node in page { try check(node) }
            after = last.turn
        }
    }

    private mutating func checkLanes() throws(StoreError) {
        var counts = try rows.openByKey()
        var after: String?
        while problems.count < Self.maxProblems {
            let page = try rows.lanes(after: after, limit: 1000)
            guard let last = page.last else { break }
            after = last.key
            for lane in page {
                let open = counts.removeValue(forKey: lane.key) ?? 0
                if lane.open != open {
                    problems.append("the ordering key “\(lane.key)” counts \(lane.open) commands, and \(open) hold it")
                }
                guard let turn = try rows.firstWaiter(lane.key) else { continue }
                if lane.open < lane.limit {
                    problems.append("the ordering key “\(lane.key)” is free, and commands wait for it")
                }
                if try rows.command(turn: turn)?.command.status != .blocked {
                    problems.append("turn \(turn) waits for the ordering key “\(lane.key)”, and is not blocked")
                }
            }
        }
        for (key, open) in counts.sorted(by: { $0.key < $1.key }) {
            problems.append("the ordering key “\(key)” has no row, and \(open) commands hold it")
        }
    }

    private mutating func checkParts() throws(StoreError) {
        var after: Int64 = 0
        while problems.count < Self.maxProblems {
            let page = try rows.parts(after: after, limit: 1000)
            guard let last = page.last else { return }
            after = last.number
            for part in page where part.state != .ended {
                let open = try openMembers(of: part.batch)
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

    private mutating func openMembers(of batch: CommandID) throws(StoreError) -> Int {
        var (count, after) = (0, Int64(0))
        while true {
            let page = try rows.members(of: batch, after: after, limit: 1000)
            guard let last = page.last else { return count }
            after = last
            for turn in page where try !(rows.command(turn: turn)?.command.status.isEnd ?? true) { count += 1 }
        }
    }

    private mutating func check(_ node: NodeRow) throws(StoreError) {
        guard let row = try rows.command(turn: node.turn) else {
            return problems.append("node \(node.turn) has no command")
        }
        if row.relations.contains(.flow) { return try checkFlow(row, node) }
        try checkDependencies(row, node)
    }

    private mutating func checkDependencies(_ row: StoredCommand, _ node: NodeRow) throws(StoreError) {
        let dependencies = try rows.dependencies(of: node.turn)
        let remote = try rows.remoteDependencies(of: node.turn)
        let open = dependencies.count { $0.state != .satisfied } + remote.count { $0.state != .satisfied }
        expect(
            node.pending == open, row, "waits for \(node.pending), and \(open) of its dependencies are not satisfied")
        for dependency in dependencies {
            if dependency.parent < 0 {
                try checkStart(dependency, row)
                continue
            }
            guard let parent = try rows.command(turn: dependency.parent) else {
                expect(false, row, "waits for turn \(dependency.parent), which has no command")
                continue
            }
            let flags = try rows.node(dependency.parent)?.flags ?? []
            let outcome = ParentOutcome(parent.command.status, flags)
            let state = DependencyRow.State.initialState(dependency.condition, outcome)
            // A failure that was retried since keeps what it has satisfied.
            let mayStay = dependency.condition != .success || flags.contains(.mayFail)
            let isLegal = dependency.state == state || dependency.state == .satisfied && mayStay
            expect(
                isSettling || isLegal, row,
                "has the state \(dependency.state) for \(parent.id), which is \(parent.command.status)")
        }
        let isUnsatisfiable =
            dependencies.contains { $0.state == .unsatisfiable } || remote.contains { $0.state == .unsatisfiable }
        switch row.command.status {
        case .blocked:
            let waits = try row.key.map { key throws(StoreError) in try rows.isWaiter(key, node.turn) } ?? false
            expect(isSettling || (open > 0 || waits) && !isUnsatisfiable, row, "is blocked by nothing")
        case .cancelled: break
        case .new, .queued, .sent, .error, .success, .inDoubt, .tooManyTimes:
            expect(open == 0, row, "is \(row.command.status) before what it waits for")
        }
    }

    /// Of a node that waits until its flow has its ordering key.
    private mutating func checkStart(_ dependency: DependencyRow, _ row: StoredCommand) throws(StoreError) {
        let flow = try rows.command(turn: -dependency.parent)
        let waits = try flow?.key.map { key throws(StoreError) in try rows.isWaiter(key, -dependency.parent) } ?? false
        let isLegal = dependency.state == (waits ? .open : .satisfied) || flow?.command.status.isEnd ?? false
        expect(isSettling || isLegal, row, "has the state \(dependency.state) for the start of its flow")
    }

    private mutating func checkFlow(_ row: StoredCommand, _ node: NodeRow) throws(StoreError) {
        guard let flow = try rows.flow(node.turn) else { return expect(false, row, "has no flow row") }
        var (members, open, failed, after) = (0, 0, 0, Int64(0))
        while true {
            let page = try rows.nodes(of: node.turn, after: after, limit: 1000)
            guard let last = page.last else { break }
            after = last
            for turn in page {
                guard let member = try rows.node(turn), !member.flags.contains(.callback),
                    let command = try rows.command(turn: turn)?.command
                else { continue }
                members += 1
                if !command.status.isEnd {
                    open += 1
                } else if command.status != .success, member.flags.isDisjoint(with: [.mayFail, .notNeeded]) {
                    failed += 1
                }
            }
        }
        // It is being pruned.
        if members < flow.nodes, row.command.status.isEnd { return }
        expect(members == flow.nodes, row, "has \(members) nodes, and \(flow.nodes) were submitted")
        expect(node.pending == open, row, "counts \(node.pending) nodes that have not ended, and there are \(open)")
        expect(flow.failed == failed, row, "counts \(flow.failed) failed nodes, and there are \(failed)")
        guard !isSettling else { return }
        switch row.command.status {
        case .blocked: expect(open > 0, row, "waits for no node")
        case .success: expect(failed == 0, row, "is a success with \(failed) failed nodes")
        case .cancelled, .tooManyTimes: expect(open == 0, row, "has ended before \(open) of its nodes")
        case .new, .queued, .sent, .error, .inDoubt: expect(false, row, "is \(row.command.status)")
        }
    }

    private mutating func expect(_ isTrue: Bool, _ row: StoredCommand, _ problem: String) {
        if !isTrue { problems.append("command \(row.id) \(problem)") }
    }
}
