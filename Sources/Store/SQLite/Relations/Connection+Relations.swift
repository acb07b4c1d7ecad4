internal import Commands

/// The rows of commands that are related to others.
extension Connection: RelationRows {
    func command(turn: Int64) throws(StoreError) -> StoredCommand? {
        try statement(.byTurn, turn).first { row throws(StoreError) in try StoredCommand(row, self) }
    }

    func payload(of id: CommandID) throws(StoreError) -> [UInt8]? { try body(.payload, id) }
    func result(of id: CommandID) throws(StoreError) -> [UInt8]? { try body(.result, id) }

    // MARK: Nodes

    func node(_ turn: Int64) throws(StoreError) -> NodeRow? {
        try statement(.node, turn).first(NodeRow.init)
    }

    func nodes(after turn: Int64, limit: Int) throws(StoreError) -> [NodeRow] {
        try statement(.nodesAfter, turn, limit).rows(NodeRow.init)
    }

    func save(_ node: NodeRow) throws(StoreError) {
        try statement(.saveNode, node.turn, node.pending, node.flags.rawValue, node.cause).run()
    }

    func insert(_ node: NodeRow) throws(StoreError) {
        try statement(.insertNode, node.turn, node.flow, node.name, node.pending, node.flags.rawValue).run()
    }

    func nodes(of flow: Int64, after turn: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try statement(.nodesOf, flow, turn, limit).rows { $0.int64(0) }
    }

    // MARK: Dependencies

    func dependants(of parent: Int64, after child: Int64, limit: Int) throws(StoreError) -> [DependencyRow] {
        try statement(.dependantsOf, parent, child, limit).rows(DependencyRow.init)
    }

    func dependencies(of child: Int64) throws(StoreError) -> [DependencyRow] {
        try statement(.dependenciesOf, child).rows(DependencyRow.init)
    }

    func dependencies(of child: Int64, after parent: Int64, limit: Int) throws(StoreError) -> [DependencyRow] {
        try statement(.dependenciesAfter, child, parent, limit).rows(DependencyRow.init)
    }

    func save(_ dependency: DependencyRow) throws(StoreError) {
        try statement(.saveDependency, dependency.parent, dependency.child, dependency.state.rawValue).run()
    }

    func insert(_ dependency: DependencyRow) throws(StoreError) {
        try statement(
            .insertDependency, dependency.parent, dependency.child, dependency.condition.rawValue,
            dependency.state.rawValue
        ).run()
    }

    /// From now on the end of a command is looked up in `dependency`.
    func markParent(_ turn: Int64) throws(StoreError) { try statement(.markParent, turn).run() }

    func saveRelations(_ command: StoredCommand) throws(StoreError) {
        try statement(.saveRelations, command.command.turn, command.relations.rawValue).run()
    }

    // MARK: Flows

    func flow(_ turn: Int64) throws(StoreError) -> FlowRow? {
        try statement(.flow, turn).first(FlowRow.init)
    }

    func save(_ flow: FlowRow) throws(StoreError) {
        try statement(.saveFlow, flow.turn, flow.nodes, flow.failed, flow.firstFailed).run()
    }

    func insert(_ flow: FlowRow) throws(StoreError) {
        try statement(.insertFlow, flow.turn, flow.nodes, flow.stopsOnFailure).run()
    }

    // MARK: Cascades

    func cascade() throws(StoreError) -> CascadeRow? { try statement(.nextCascade).first(CascadeRow.init) }

    func cascade(of turn: Int64, _ step: CascadeRow.Step) throws(StoreError) -> CascadeRow? {
        try statement(.cascadeOf, turn, step.rawValue).first(CascadeRow.init)
    }

    func save(_ cascade: CascadeRow) throws(StoreError) {
        try statement(.saveCascade, cascade.turn, cascade.step.rawValue, cascade.after).run()
    }

    func takeCascades(_ maxCount: Int) throws(StoreError) -> [CascadeRow] {
        var taken: [CascadeRow] = []
        while taken.count < maxCount, let next = try cascade() {
            try statement(.removeCascade, next.turn, next.step.rawValue).run()
            taken.append(next)
        }
        return taken
    }
}

extension NodeRow {
    fileprivate init(_ row: Statement) {
        self.init(
            turn: row.int64(0), flow: row.optionalInt64(1), name: row.optionalText(2), pending: row.int(3),
            flags: Flags(rawValue: row.int(4)), cause: row.optionalInt64(5))
    }
}

extension DependencyRow {
    fileprivate init(_ row: Statement) throws(StoreError) {
        self.init(
            parent: row.int64(0), child: row.int64(1), condition: try row.condition(2),
            state: try row.dependencyState(3))
    }
}

extension Statement {
    /// The condition of a dependency.
    func condition(_ column: Int32) throws(StoreError) -> DependencyCondition {
        try value(column, "a dependency has the condition")
    }

    func dependencyState(_ column: Int32) throws(StoreError) -> DependencyRow.State {
        try value(column, "a dependency has the state")
    }
}

extension FlowRow {
    fileprivate init(_ row: Statement) {
        self.init(
            turn: row.int64(0), nodes: row.int(1), failed: row.int(2), firstFailed: row.optionalInt64(3),
            stopsOnFailure: row.bool(4))
    }
}

extension CascadeRow {
    fileprivate init(_ row: Statement) throws(StoreError) {
        self.init(turn: row.int64(0), step: try row.value(1, "a cascade has the step"), after: row.int64(2))
    }
}

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

/// The statements of flows: nodes, dependencies and the effects that are left to do.
extension Query {
    static let flow = Query("SELECT turn, nodes, failed, first_failed, stops_on_failure FROM flow WHERE turn = ?1")
    static let saveFlow = Query("UPDATE flow SET nodes = ?2, failed = ?3, first_failed = ?4 WHERE turn = ?1")
    static let insertFlow = Query("INSERT INTO flow(turn, nodes, failed, stops_on_failure) VALUES (?1, ?2, 0, ?3)")
    static let node = Query("SELECT turn, flow, name, pending, flags, cause FROM node WHERE turn = ?1")
    static let nodesAfter = Query(
        "SELECT turn, flow, name, pending, flags, cause FROM node WHERE turn > ?1 ORDER BY turn LIMIT ?2")
    static let saveNode = Query("UPDATE node SET pending = ?2, flags = ?3, cause = ?4 WHERE turn = ?1")
    static let insertNode = Query("INSERT INTO node(turn, flow, name, pending, flags) VALUES (?1, ?2, ?3, ?4, ?5)")
    static let nodesOf = Query("SELECT turn FROM node WHERE flow = ?1 AND turn > ?2 ORDER BY turn LIMIT ?3")
    static let lastNodesOf = Query("SELECT turn FROM node WHERE flow = ?1 ORDER BY turn DESC LIMIT ?2")
    static let dependantsOf = Query(
        """
        SELECT parent, child, condition, state FROM dependency
        WHERE parent = ?1 AND child > ?2 ORDER BY child LIMIT ?3
        """)
    static let dependenciesOf = Query(
        "SELECT parent, child, condition, state FROM dependency WHERE child = ?1 ORDER BY parent")
    static let dependenciesAfter = Query(
        """
        SELECT parent, child, condition, state FROM dependency WHERE child = ?1 AND parent > ?2 ORDER BY parent LIMIT ?3
        """)
    static let saveDependency = Query("UPDATE dependency SET state = ?3 WHERE parent = ?1 AND child = ?2")
    static let insertDependency = Query(
        "INSERT OR IGNORE INTO dependency(parent, child, condition, state) VALUES (?1, ?2, ?3, ?4)")
    static let markParent = Query("UPDATE command SET relations = relations | 2 WHERE turn = ?1")
    static let saveRelations = Query("UPDATE command SET relations = ?2 WHERE turn = ?1")
    static let nextCascade = Query("SELECT turn, step, after FROM cascade LIMIT 1")
    static let cascadeOf = Query("SELECT turn, step, after FROM cascade WHERE turn = ?1 AND step = ?2")
    static let saveCascade = Query("INSERT OR REPLACE INTO cascade(turn, step, after) VALUES (?1, ?2, ?3)")
    static let removeCascade = Query("DELETE FROM cascade WHERE turn = ?1 AND step = ?2")
}

/// The statements of ordering keys.
extension Query {
    static let lane = Query("SELECT key, max, open, holder FROM lane WHERE key = ?1")
    static let saveLane = Query("INSERT OR REPLACE INTO lane(key, max, open, holder) VALUES (?1, ?2, ?3, ?4)")
    static let removeLane = Query("DELETE FROM lane WHERE key = ?1")
    static let lanesAfter = Query(
        "SELECT key, max, open, holder FROM lane WHERE ?1 IS NULL OR key > ?1 ORDER BY key LIMIT ?2")
    static let addWaiter = Query("INSERT OR IGNORE INTO waiter(key, turn) VALUES (?1, ?2)")
    static let removeWaiter = Query("DELETE FROM waiter WHERE key = ?1 AND turn = ?2")
    static let firstWaiter = Query("SELECT turn FROM waiter WHERE key = ?1 ORDER BY turn LIMIT 1")
    static let isWaiter = Query("SELECT 1 FROM waiter WHERE key = ?1 AND turn = ?2")
    static let waitersBetween = Query(
        "SELECT turn FROM waiter WHERE key = ?1 AND turn > ?2 AND turn < ?3 ORDER BY turn LIMIT ?4")
    static let nearestWaiter = Query(
        "SELECT turn FROM waiter WHERE key = ?1 AND turn < ?2 ORDER BY turn DESC LIMIT 1")
    static let waitersBefore = Query("SELECT count(*) FROM waiter WHERE key = ?1 AND turn < ?2")
}
