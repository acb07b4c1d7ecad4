package import Commands

/// Reads of flows, keys and dependencies, each of one moment.
extension PostgreSQLStore {
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
            guard let parent = try command(id) else { continue }
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

    private func reading<Value>(
        _ id: CommandID, _ body: (inout FlowReading<PostgreSQLShard>, StoredCommand) throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        try snapshot(shard: id.shard(of: shardCount)) { shard throws(StoreError) -> Value? in
            guard let row = try shard.command(id) else { return nil }
            var reading = FlowReading(shard)
            return try body(&reading, row)
        }
    }

    package func relationProblems(shard: Int) throws(StoreError) -> [String] {
        try snapshot(shard: shard) { shard throws(StoreError) in
            var check = RelationCheck(shard)
            try check.run()
            return check.problems
        }
    }

    package func openFlows(shard: Int, limit: Int) throws(StoreError) -> [FlowState] {
        try snapshot(shard: shard) { shard throws(StoreError) in try shard.openFlows(limit: limit) }
    }

    package func openBatches(shard: Int, limit: Int) throws(StoreError) -> [CommandID] {
        try snapshot(shard: shard) { shard throws(StoreError) in
            try shard.transaction.read(PostgreSQLShard.openBatches, shard.number, limit).rows { row in
                row[0] as CommandID
            }
        }
    }

    package func relationOverview(shard: Int) throws(StoreError) -> RelationOverview {
        try snapshot(shard: shard) { shard throws(StoreError) in
            var overview = RelationOverview()
            let max = RelationOverview.maxCounted
            overview.flows.count = try shard.openFlowIDs(limit: max + 1).count
            overview.flows.isComplete = overview.flows.count <= max
            overview.flows.count = min(overview.flows.count, max)
            if overview.flows.count > 0 {
                overview.flows.newest = try shard.openFlows(limit: FlowOverview.maxShown)
            }
            try shard.addQueues(to: &overview.keys, limit: max)
            try shard.addSchedules(to: &overview.schedules, limit: max)
            return overview
        }
    }
}

extension PostgreSQLShard {
    /// A part is deleted once its batch knows of its end, so that few have ended.
    fileprivate static let openBatches = PostgreSQLStatement(
        "open-batches",
        "SELECT batch FROM batch_part WHERE shard = $1 AND state & 255 < 3 ORDER BY batch DESC LIMIT $2")
    /// A flow is blocked until its last node has ended.
    private static let openFlows = PostgreSQLStatement(
        "open-flows",
        """
        SELECT id FROM parked WHERE shard = $1 AND status = 6 AND relations & \(CommandRelations.flow.rawValue) <> 0
        ORDER BY turn DESC LIMIT $2
        """)
    private static let queues = PostgreSQLStatement(
        "key-queues",
        """
        SELECT key, count(*) FROM (SELECT key FROM waiter WHERE shard = $1 ORDER BY key LIMIT $2) w GROUP BY key ORDER BY key
        """)
    private static let scheduleStates = PostgreSQLStatement(
        "schedule-states",
        "SELECT name, paused, next, reason FROM schedule WHERE shard = $1 ORDER BY name LIMIT $2")

    fileprivate func openFlowIDs(limit: Int) throws(StoreError) -> [CommandID] {
        try transaction.read(Self.openFlows, number, limit).rows { row in row[0] as CommandID }
    }

    fileprivate func openFlows(limit: Int) throws(StoreError) -> [FlowState] {
        let ids = try openFlowIDs(limit: limit)
        try load(ids)
        var reading = FlowReading(self)
        var flows: [FlowState] = []
        for id in ids {
            guard let row = try command(id), let flow = try reading.flow(row) else { continue }
            flows.append(flow)
        }
        return flows
    }

    /// - Parameter limit: of the commands that wait.
    fileprivate func addQueues(to overview: inout OrderingKeyOverview, limit: Int) throws(StoreError) {
        let queues = try transaction.read(Self.queues, number, limit + 1).rows { row in
            OrderingKeyOverview.Queue(key: row[0], waiting: row[1])
        }
        for queue in queues { overview.add(queue) }
        overview.isComplete = overview.waiting <= limit
    }

    fileprivate func addSchedules(to overview: inout ScheduleOverview, limit: Int) throws(StoreError) {
        let states = try transaction.read(Self.scheduleStates, number, limit).rows { row in
            (name: row[0] as String, paused: row[1] as Bool, next: row[2] as Timestamp?, reason: row[3] as String?)
        }
        for state in states {
            overview.add(name: state.name, isPaused: state.paused, next: state.next, reason: state.reason)
        }
        overview.isComplete = overview.count < limit
    }
}
