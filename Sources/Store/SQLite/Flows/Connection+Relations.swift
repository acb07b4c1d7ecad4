internal import Commands

/// The rows of commands that are related to others.
extension Connection: RelationRows {
    func command(turn: Int64) throws(StoreError) -> StoredCommand? {
        let statement = try statement(.byTurn)
        statement.bind(turn, at: 1)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return try StoredCommand(statement, self)
    }

    func payload(of id: CommandID) throws(StoreError) -> [UInt8]? { try body(.payload, id) }
    func result(of id: CommandID) throws(StoreError) -> [UInt8]? { try body(.result, id) }

    func node(_ turn: Int64) throws(StoreError) -> NodeRow? {
        let statement = try statement(.node)
        statement.bind(turn, at: 1)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return NodeRow(statement)
    }

    func nodes(after turn: Int64, limit: Int) throws(StoreError) -> [NodeRow] {
        let statement = try statement(.nodesAfter)
        statement.bind(turn, at: 1)
        statement.bind(limit, at: 2)
        defer { statement.reset() }
        var nodes: [NodeRow] = []
        while try statement.step() { nodes.append(NodeRow(statement)) }
        return nodes
    }

    func save(_ node: NodeRow) throws(StoreError) {
        let statement = try statement(.saveNode)
        statement.bind(node.turn, at: 1)
        statement.bind(node.pending, at: 2)
        statement.bind(node.flags.rawValue, at: 3)
        statement.bind(node.cause, at: 4)
        try statement.run()
    }

    func insert(_ node: NodeRow) throws(StoreError) {
        let statement = try statement(.insertNode)
        statement.bind(node.turn, at: 1)
        statement.bind(node.flow, at: 2)
        statement.bind(node.name, at: 3)
        statement.bind(node.pending, at: 4)
        statement.bind(node.flags.rawValue, at: 5)
        try statement.run()
    }

    func nodes(of flow: Int64, after turn: Int64, limit: Int) throws(StoreError) -> [Int64] {
        let statement = try statement(.nodesOf)
        statement.bind(flow, at: 1)
        statement.bind(turn, at: 2)
        statement.bind(limit, at: 3)
        defer { statement.reset() }
        var turns: [Int64] = []
        while try statement.step() { turns.append(statement.int64(0)) }
        return turns
    }

    func dependants(of parent: Int64, after child: Int64, limit: Int) throws(StoreError) -> [DependencyRow] {
        let statement = try statement(.dependantsOf)
        statement.bind(parent, at: 1)
        statement.bind(child, at: 2)
        statement.bind(limit, at: 3)
        return try dependencies(statement)
    }

    func dependencies(of child: Int64) throws(StoreError) -> [DependencyRow] {
        let statement = try statement(.dependenciesOf)
        statement.bind(child, at: 1)
        return try dependencies(statement)
    }

    func dependencies(of child: Int64, after parent: Int64, limit: Int) throws(StoreError) -> [DependencyRow] {
        let statement = try statement(.dependenciesAfter)
        statement.bind(child, at: 1)
        statement.bind(parent, at: 2)
        statement.bind(limit, at: 3)
        return try dependencies(statement)
    }

    private func dependencies(_ statement: Statement) throws(StoreError) -> [DependencyRow] {
        defer { statement.reset() }
        var found: [DependencyRow] = []
        while try statement.step() {
            guard let condition = DependencyCondition(rawValue: statement.int(2)),
                let state = DependencyRow.State(rawValue: statement.int(3))
            else { throw StoreError(.corrupt, "a dependency has the condition \(statement.int(2))") }
            found.append(
                DependencyRow(
                    parent: statement.int64(0), child: statement.int64(1), condition: condition, state: state))
        }
        return found
    }

    func save(_ dependency: DependencyRow) throws(StoreError) {
        let statement = try statement(.saveDependency)
        statement.bind(dependency.parent, at: 1)
        statement.bind(dependency.child, at: 2)
        statement.bind(dependency.state.rawValue, at: 3)
        try statement.run()
    }

    func insert(_ dependency: DependencyRow) throws(StoreError) {
        let statement = try statement(.insertDependency)
        statement.bind(dependency.parent, at: 1)
        statement.bind(dependency.child, at: 2)
        statement.bind(dependency.condition.rawValue, at: 3)
        statement.bind(dependency.state.rawValue, at: 4)
        try statement.run()
    }

    /// From now on the end of a command is looked up in `dependency`.
    func markParent(_ turn: Int64) throws(StoreError) {
        let statement = try statement(.markParent)
        statement.bind(turn, at: 1)
        try statement.run()
    }

    func flow(_ turn: Int64) throws(StoreError) -> FlowRow? {
        let statement = try statement(.flow)
        statement.bind(turn, at: 1)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return FlowRow(
            turn: turn, nodes: statement.int(1), failed: statement.int(2), firstFailed: statement.optionalInt64(3),
            stopsOnFailure: statement.bool(4))
    }

    func save(_ flow: FlowRow) throws(StoreError) {
        let statement = try statement(.saveFlow)
        statement.bind(flow.turn, at: 1)
        statement.bind(flow.nodes, at: 2)
        statement.bind(flow.failed, at: 3)
        statement.bind(flow.firstFailed, at: 4)
        try statement.run()
    }

    func insert(_ flow: FlowRow) throws(StoreError) {
        let statement = try statement(.insertFlow)
        statement.bind(flow.turn, at: 1)
        statement.bind(flow.nodes, at: 2)
        statement.bind(flow.stopsOnFailure, at: 3)
        try statement.run()
    }

    func cascade() throws(StoreError) -> CascadeRow? { try cascade(try statement(.nextCascade)) }

    func cascade(of turn: Int64, _ step: CascadeRow.Step) throws(StoreError) -> CascadeRow? {
        let statement = try statement(.cascadeOf)
        statement.bind(turn, at: 1)
        statement.bind(step.rawValue, at: 2)
        return try cascade(statement)
    }

    private func cascade(_ statement: Statement) throws(StoreError) -> CascadeRow? {
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        guard let step = CascadeRow.Step(rawValue: statement.int(1)) else {
            throw StoreError(.corrupt, "a cascade has the step \(statement.int(1))")
        }
        return CascadeRow(turn: statement.int64(0), step: step, after: statement.int64(2))
    }

    func save(_ cascade: CascadeRow) throws(StoreError) {
        let statement = try statement(.saveCascade)
        statement.bind(cascade.turn, at: 1)
        statement.bind(cascade.step.rawValue, at: 2)
        statement.bind(cascade.after, at: 3)
        try statement.run()
    }

    func remove(_ cascade: CascadeRow) throws(StoreError) {
        let statement = try statement(.removeCascade)
        statement.bind(cascade.turn, at: 1)
        statement.bind(cascade.step.rawValue, at: 2)
        try statement.run()
    }
}

extension NodeRow {
    fileprivate init(_ row: Statement) {
        self.init(
            turn: row.int64(0), flow: row.optionalInt64(1), name: row.optionalText(2), pending: row.int(3),
            flags: Flags(rawValue: row.int(4)), cause: row.optionalInt64(5))
    }
}
