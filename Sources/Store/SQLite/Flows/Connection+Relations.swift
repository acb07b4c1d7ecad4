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
