package import Commands

extension SQLiteStore {
    package func flow(_ id: CommandID) throws(StoreError) -> FlowState? {
        try reading(id) { (reading, row) throws(StoreError) in try reading.flow(row) }
    }

    package func flowNodes(
        _ flow: CommandID, after position: Int64, limit: Int
    ) throws(StoreError) -> [FlowNodeState] {
        try reading(flow) { (reading, row) throws(StoreError) in
            try reading.nodes(of: row, after: position, limit: min(limit, 1000))
        } ?? []
    }

    package func dependencies(of id: CommandID, limit: Int) throws(StoreError) -> CommandDependencies? {
        let found = try reading(id) { (reading, row) throws(StoreError) in
            (try reading.dependencies(of: row, limit: limit), reading.remote)
        }
        guard var dependencies = found?.0 else { return nil }
        for (id, condition) in found?.1 ?? [] {
            guard let parent = try ifUsable({ () throws(StoreError) in try command(id) }) ?? nil else { continue }
            dependencies.parents.append(
                CommandDependencies.Parent(command: parent, name: nil, condition: condition))
        }
        return dependencies
    }

    package func orderingKey(of id: CommandID) throws(StoreError) -> OrderingKeyState? {
        try reading(id) { (reading, row) throws(StoreError) in try reading.orderingKey(of: row) }
    }

    package func parentResults(
        of id: CommandID, after position: Int64, limit: Int
    ) throws(StoreError) -> [ParentResult] {
        try reading(id) { (reading, row) throws(StoreError) in
            try reading.parentResults(of: row, after: position, limit: min(limit, 1000))
        } ?? []
    }

    /// Reads in one transaction. Nil where there is no such command, or where its shard has no relations.
    private func reading<Value: Sendable>(
        _ id: CommandID, _ body: (inout FlowReading<Connection>, StoredCommand) throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        try shard(of: id).use { connection throws(StoreError) in
            guard connection.version >= 3 else { return nil }
            try connection.execute("BEGIN")
            defer { connection.rollback() }
            guard let row = try connection.find(id) else { return nil }
            var reading = FlowReading(connection)
            return try body(&reading, row)
        }
    }
}

/// Reads for screens and monitors. Each costs no more in a store of many rows.
extension SQLiteStore {
    package func openFlows(shard: Int, limit: Int) throws(StoreError) -> [FlowState] {
        try reading(shard, or: []) { connection throws(StoreError) in try connection.openFlows(limit: limit) }
    }

    package func openBatches(shard: Int, limit: Int) throws(StoreError) -> [CommandID] {
        try reading(shard, or: []) { connection throws(StoreError) in try connection.openBatches(limit: limit) }
    }

    package func relationOverview(shard: Int) throws(StoreError) -> RelationOverview {
        try reading(shard, or: RelationOverview()) { connection throws(StoreError) in
            var overview = RelationOverview()
            let max = RelationOverview.maxCounted
            overview.flows.count = try connection.countOpenFlows(limit: max + 1)
            overview.flows.isComplete = overview.flows.count <= max
            overview.flows.count = min(overview.flows.count, max)
            if overview.flows.count > 0 {
                overview.flows.newest = try connection.openFlows(limit: FlowOverview.maxShown)
            }
            try connection.addQueues(to: &overview.keys, limit: max)
            try connection.addSchedules(to: &overview.schedules, limit: max)
            return overview
        }
    }

    /// Reads in one transaction.
    /// - Parameter none: the value of a shard without relations.
    private func reading<Value: Sendable>(
        _ shard: Int, or none: Value, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try self.shard(shard).use { connection throws(StoreError) in
            guard connection.version >= Schema.firstWithRelations else { return none }
            try connection.execute("BEGIN")
            defer { connection.rollback() }
            return try body(connection)
        }
    }
}

extension Connection {
    fileprivate func openFlows(limit: Int) throws(StoreError) -> [FlowState] {
        let turns = try statement(
            sql: "SELECT turn FROM node WHERE flags & 16 AND pending > 0 ORDER BY turn DESC LIMIT ?1", limit
        ).rows { $0.int64(0) }
        var reading = FlowReading(self)
        var flows: [FlowState] = []
        for turn in turns {
            guard let row = try command(turn: turn), let flow = try reading.flow(row) else { continue }
            flows.append(flow)
        }
        return flows
    }

    fileprivate func openBatches(limit: Int) throws(StoreError) -> [CommandID] {
        // A part is deleted once its batch knows of its end, so that few have ended.
        let statement = try statement(
            sql: "SELECT batch FROM batch_part WHERE state & 255 < 3 ORDER BY batch DESC LIMIT ?1")
        statement.bind(limit, at: 1)
        defer { statement.reset() }
        var ids: [CommandID] = []
        while try statement.step() { ids.append(try statement.id(0)) }
        return ids
    }

    fileprivate func countOpenFlows(limit: Int) throws(StoreError) -> Int {
        try statement(
            sql: "SELECT count(*) FROM (SELECT 1 FROM node WHERE flags & 16 AND pending > 0 LIMIT ?1)", limit
        ).first { $0.int(0) } ?? 0
    }

    /// - Parameter limit: of the commands that wait.
    fileprivate func addQueues(to overview: inout OrderingKeyOverview, limit: Int) throws(StoreError) {
        let statement = try statement(
            sql: "SELECT key, count(*) FROM (SELECT key FROM waiter ORDER BY key LIMIT ?1) GROUP BY key ORDER BY key",
            limit + 1)
        defer { statement.reset() }
        while try statement.step() {
            overview.add(OrderingKeyOverview.Queue(key: statement.text(0), waiting: statement.int(1)))
        }
        overview.isComplete = overview.waiting <= limit
    }

    fileprivate func addSchedules(to overview: inout ScheduleOverview, limit: Int) throws(StoreError) {
        let statement = try statement(
            sql: "SELECT name, paused, next, reason FROM schedule ORDER BY name LIMIT ?1", limit)
        defer { statement.reset() }
        while try statement.step() {
            overview.add(
                name: statement.text(0), isPaused: statement.bool(1), next: statement.optionalTime(2),
                reason: statement.optionalText(3))
        }
        overview.isComplete = overview.count < limit
    }
}
