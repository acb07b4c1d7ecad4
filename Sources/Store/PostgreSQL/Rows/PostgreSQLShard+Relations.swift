internal import Commands

/// The rows of commands that are related to others.
extension PostgreSQLShard: RelationRows {
    private static let payload = PostgreSQLStatement("payload", "SELECT payload FROM command WHERE id = $1")
    private static let result = PostgreSQLStatement("result", "SELECT body FROM result WHERE id = $1")

    func payload(of id: CommandID) throws(StoreError) -> [UInt8]? {
        try flush()
        return try transaction.read(Self.payload, id).first { row in row[0] as [UInt8] }
    }

    func result(of id: CommandID) throws(StoreError) -> [UInt8]? {
        try transaction.read(Self.result, id).first { row in row[0] as [UInt8] }
    }

    // MARK: Pages

    /// The statements of a page of rows that name commands: the page, and the nodes and rows of these commands. A flow of
    /// 10,000 nodes would take a round trip for each otherwise.
    private struct Page {
        let rows: PostgreSQLStatement
        let nodes: PostgreSQLStatement
        let commands: PostgreSQLStatement

        /// - Parameters:
        ///   - source: table, condition, order and limit.
        ///   - turn: the column with the turn of the command.
        init(_ name: String, _ columns: String, from source: String, turn: String) {
            rows = PostgreSQLStatement(name, "SELECT \(columns) FROM \(source)")
            let turns = "(SELECT \(turn) AS turn FROM \(source)) w"
            nodes = PostgreSQLStatement(
                "\(name)-nodes",
                """
                SELECT n.turn, n.flow, n.name, n.pending, n.flags, n.cause FROM \(turns)
                JOIN LATERAL (SELECT * FROM node x WHERE x.shard = $1 AND x.turn = w.turn LIMIT 1) n ON true
                """)
            commands = PostgreSQLStatement(
                "\(name)-commands",
                """
                SELECT \(CommandSQL.columns) FROM \(turns)
                JOIN LATERAL (SELECT id FROM related x WHERE x.shard = $1 AND x.turn = w.turn LIMIT 1) i ON true
                \(CommandSQL.row(of: "i.id"))
                """)
        }
    }

    private func page<Row>(
        _ page: Page, of turn: Int64, after: Int64, limit: Int,
        _ read: (borrowing PostgreSQLRow) throws(StoreError) -> Row
    ) throws(StoreError) -> [Row] {
        try transaction.pipeline {
            for statement in [page.rows, page.nodes, page.commands] {
                $0.append(statement, number, turn, after, limit)
            }
        } read: { (results, first) throws(StoreError) in
            for node in results.take(first + 1).rows({ row in NodeRow(row) }) { know(node) }
            know([], try results.take(first + 2).rows { row throws(StoreError) in try StoredCommand(row) })
            return try results.take(first).rows(read)
        }
    }

    // MARK: Nodes

    private static let node = PostgreSQLStatement(
        "node", "SELECT turn, flow, name, pending, flags, cause FROM node WHERE shard = $1 AND turn = $2")
    private static let nodesAfter = PostgreSQLStatement(
        "nodes-after",
        """
        SELECT turn, flow, name, pending, flags, cause FROM node WHERE shard = $1 AND turn > $2 ORDER BY turn LIMIT $3
        """)
    private static let nodesOf = Page(
        "nodes-of", "turn", from: "node WHERE shard = $1 AND flow = $2 AND turn > $3 ORDER BY turn LIMIT $4",
        turn: "turn")
    private static let saveNode = PostgreSQLStatement(
        "save-node",
        """
        INSERT INTO node(shard, turn, flow, name, pending, flags, cause) VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (shard, turn) DO UPDATE SET pending = excluded.pending, flags = excluded.flags, cause = excluded.cause
        """)

    func node(_ turn: Int64) throws(StoreError) -> NodeRow? {
        if let known = nodes[turn] { return known }
        let node = try transaction.read(Self.node, number, turn).first { row in NodeRow(row) }
        nodes[turn] = .some(node)
        return node
    }

    /// Takes in the result of a read, unless the row was read or changed before.
    func know(_ node: NodeRow) { if (nodes[node.turn] ?? nil) == nil { nodes[node.turn] = node } }

    /// The rows of a command are about to be known: those that there are.
    func knowNothing(of turn: Int64) {
        if nodes[turn] == nil { nodes[turn] = .some(nil) }
        if flows[turn] == nil { flows[turn] = .some(nil) }
        knownDependants[turn] = KnownRange(max: RelationClosure.maxDependants) { $0.child }
    }

    func save(_ node: NodeRow) throws(StoreError) {
        nodes[node.turn] = node
        try transaction.write(
            Self.saveNode, number, node.turn, node.flow, node.name, node.pending, node.flags.rawValue, node.cause)
    }

    func nodes(after turn: Int64, limit: Int) throws(StoreError) -> [NodeRow] {
        try transaction.read(Self.nodesAfter, number, turn, limit).rows { row in NodeRow(row) }
    }

    func nodes(of flow: Int64, after turn: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try page(Self.nodesOf, of: flow, after: turn, limit: limit) { row in row[0] as Int64 }
    }

    // MARK: Dependencies

    private static let dependencies = PostgreSQLStatement(
        "dependencies",
        """
        SELECT parent, child, condition, state FROM dependency WHERE shard = $1 AND child = $2 AND parent > $3
        ORDER BY parent LIMIT $4
        """)
    private static let saveDependency = PostgreSQLStatement(
        "save-dependency",
        """
        INSERT INTO dependency(shard, parent, child, condition, state) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (shard, parent, child) DO UPDATE SET state = excluded.state
        """)
    private static let insertDependency = PostgreSQLStatement(
        "insert-dependency",
        """
        INSERT INTO dependency(shard, parent, child, condition, state) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
        """)

    func know(_ dependant: DependencyRow) { knownDependants[dependant.parent]?.know(dependant) }

    func dependants(of parent: Int64, after child: Int64, limit: Int) throws(StoreError) -> [DependencyRow] {
        if let known = knownDependants[parent]?.rows(after: child, limit: limit) { return known }
        return try DependantLevels.page(of: parent, after: child, limit: limit, in: self)
    }

    func dependencies(of child: Int64) throws(StoreError) -> [DependencyRow] {
        try dependencies(of: child, after: .min, limit: .max)
    }

    func dependencies(of child: Int64, after parent: Int64, limit: Int) throws(StoreError) -> [DependencyRow] {
        try transaction.read(Self.dependencies, number, child, parent, limit).rows { row throws(StoreError) in
            try DependencyRow(row)
        }
    }

    func save(_ dependency: DependencyRow) throws(StoreError) { try write(dependency, Self.saveDependency) }

    /// Inserts a dependency, unless it is there.
    func insert(_ dependency: DependencyRow) throws(StoreError) { try write(dependency, Self.insertDependency) }

    private func write(_ dependency: DependencyRow, _ statement: PostgreSQLStatement) throws(StoreError) {
        knownDependants[dependency.parent]?.save(dependency)
        try transaction.write(
            statement, number, dependency.parent, dependency.child, dependency.condition.rawValue,
            dependency.state.rawValue)
    }

    // MARK: Flows

    private static let flow = PostgreSQLStatement(
        "flow", "SELECT turn, nodes, failed, first_failed, stops_on_failure FROM flow WHERE shard = $1 AND turn = $2")
    private static let saveFlow = PostgreSQLStatement(
        "save-flow",
        """
        INSERT INTO flow(shard, turn, nodes, failed, first_failed, stops_on_failure) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (shard, turn) DO UPDATE SET nodes = excluded.nodes, failed = excluded.failed,
            first_failed = excluded.first_failed
        """)

    func flow(_ turn: Int64) throws(StoreError) -> FlowRow? {
        if let known = flows[turn] { return known }
        let flow = try transaction.read(Self.flow, number, turn).first { row in FlowRow(row) }
        flows[turn] = .some(flow)
        return flow
    }

    func know(_ flow: FlowRow) { if (flows[flow.turn] ?? nil) == nil { flows[flow.turn] = flow } }

    func save(_ flow: FlowRow) throws(StoreError) {
        flows[flow.turn] = flow
        try transaction.write(
            Self.saveFlow, number, flow.turn, flow.nodes, flow.failed, flow.firstFailed, flow.stopsOnFailure)
    }

    // MARK: Cascades

    private static let nextCascades = PostgreSQLStatement(
        "next-cascades", "SELECT turn, step, after FROM cascade WHERE shard = $1 ORDER BY turn, step LIMIT $2")
    private static let cascadeOf = PostgreSQLStatement(
        "cascade-of", "SELECT turn, step, after FROM cascade WHERE shard = $1 AND turn = $2 AND step = $3")
    private static let saveCascade = PostgreSQLStatement(
        "save-cascade",
        """
        INSERT INTO cascade(shard, turn, step, after) VALUES ($1, $2, $3, $4)
        ON CONFLICT (shard, turn, step) DO UPDATE SET after = excluded.after
        """)
    private static let removeCascades = PostgreSQLStatement(
        "remove-cascades", "DELETE FROM cascade WHERE shard = $1 AND (turn, step) <= ($2, $3)")

    func cascade() throws(StoreError) -> CascadeRow? {
        if hasNoCascade { return nil }
        return try cascades(limit: 1).first
    }

    func cascade(of turn: Int64, _ step: CascadeRow.Step) throws(StoreError) -> CascadeRow? {
        if hasNoCascade { return nil }
        return try transaction.read(Self.cascadeOf, number, turn, step.rawValue).first { row throws(StoreError) in
            try CascadeRow(row)
        }
    }

    func save(_ cascade: CascadeRow) throws(StoreError) {
        hasNoCascade = false
        try transaction.write(Self.saveCascade, number, cascade.turn, cascade.step.rawValue, cascade.after)
    }

    private func cascades(limit: Int) throws(StoreError) -> [CascadeRow] {
        try transaction.read(Self.nextCascades, number, limit).rows { row throws(StoreError) in try CascadeRow(row) }
    }

    func takeCascades(_ maxCount: Int) throws(StoreError) -> [CascadeRow] {
        let taken = try cascades(limit: maxCount)
        guard let last = taken.last else { return [] }
        try transaction.write(Self.removeCascades, number, last.turn, last.step.rawValue)
        return taken
    }

    /// Reads the dependants of all, where those of the first are not known.
    func prepare(_ next: ArraySlice<CascadeRow>) throws(StoreError) {
        func isUnknown(_ cascade: CascadeRow) -> Bool {
            (cascade.step == .settle || cascade.step == .reopen) && cascade.after == 0
                && knownDependants[cascade.turn] == nil
        }
        guard next.last.map(isUnknown) == true else { return }
        try DependantLevels.load(next.filter(isUnknown).map(\.turn), in: self)
    }
}

extension NodeRow {
    init(_ row: borrowing PostgreSQLRow) {
        self.init(
            turn: row[0], flow: row[1] as Int64?, name: row[2] as String?, pending: row[3],
            flags: Flags(rawValue: row[4]), cause: row[5] as Int64?)
    }
}

extension FlowRow {
    init(_ row: borrowing PostgreSQLRow) {
        self.init(turn: row[0], nodes: row[1], failed: row[2], firstFailed: row[3] as Int64?, stopsOnFailure: row[4])
    }
}

extension DependencyRow {
    init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        self.init(
            parent: row[0], child: row[1], condition: try row.value(2, "a dependency has the condition"),
            state: try row.value(3, "a dependency has the state"))
    }
}

extension CascadeRow {
    fileprivate init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        self.init(turn: row[0], step: try row.value(1, "a cascade has the step"), after: row[2])
    }
}
