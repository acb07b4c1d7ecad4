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
        try check(shard)
        return try flows(openFlowIDs(in: [shard], limit: limit))
    }

    package func openFlows(limit: Int) throws(StoreError) -> [FlowState] {
        try flows(openFlowIDs(in: allShards, limit: limit).sorted(by: >).prefix(limit))
    }

    package func openBatches(shard: Int, limit: Int) throws(StoreError) -> [CommandID] {
        try check(shard)
        return try openBatches(in: [shard], limit: limit)
    }

    package func openBatches(limit: Int) throws(StoreError) -> Set<CommandID> {
        Set(try openBatches(in: allShards, limit: limit))
    }

    package func relationOverview(shard: Int) throws(StoreError) -> RelationOverview {
        try check(shard)
        return try overview([shard])
    }

    package func relationOverview() throws(StoreError) -> RelationOverview { try overview(allShards) }

    // MARK: Open flows and batches, queues, schedules

    private var allShards: [Int] { Array(0..<shardCount) }

    /// A part is deleted once its batch knows of its end, so that few have ended.
    private static let openBatches = PostgreSQLStatement(
        "open-batches",
        """
        SELECT b.batch FROM unnest($1::int8[]::int2[]) w(number) CROSS JOIN LATERAL (
            SELECT batch FROM batch_part WHERE shard = w.number AND state & 255 < 3 ORDER BY batch DESC LIMIT $2) b
        ORDER BY b.batch DESC
        """)
    /// A flow is blocked until its last node has ended.
    private static let openFlows = PostgreSQLStatement(
        "open-flows",
        """
        SELECT f.id FROM unnest($1::int8[]::int2[]) w(number) CROSS JOIN LATERAL (
            SELECT id, turn FROM parked WHERE shard = w.number AND status = 6
            AND relations & \(CommandRelations.flow.rawValue) <> 0 ORDER BY turn DESC LIMIT $2) f
        ORDER BY w.number, f.turn DESC
        """)
    private static let queues = PostgreSQLStatement(
        "key-queues",
        """
        SELECT w.number, k.key, count(*) FROM unnest($1::int8[]::int2[]) w(number) CROSS JOIN LATERAL (
            SELECT key FROM waiter WHERE shard = w.number ORDER BY key LIMIT $2) k
        GROUP BY w.number, k.key ORDER BY w.number, k.key
        """)
    private static let scheduleStates = PostgreSQLStatement(
        "schedule-states",
        """
        SELECT w.number, s.name, s.paused, s.next, s.reason FROM unnest($1::int8[]::int2[]) w(number) CROSS JOIN LATERAL (
            SELECT name, paused, next, reason FROM schedule WHERE shard = w.number ORDER BY name LIMIT $2) s
        ORDER BY w.number, s.name
        """)

    private func openBatches(in shards: [Int], limit: Int) throws(StoreError) -> [CommandID] {
        try read { transaction throws(StoreError) in
            try transaction.read(Self.openBatches, shards, limit).rows { row in row[0] as CommandID }
        }
    }

    /// The newest of each shard first.
    /// - Parameter limit: in each shard.
    private func openFlowIDs(in shards: [Int], limit: Int) throws(StoreError) -> [CommandID] {
        try read { transaction throws(StoreError) in
            try transaction.read(Self.openFlows, shards, limit).rows { row in row[0] as CommandID }
        }
    }

    /// The states of flows, in the order of their ids, each shard at one moment. A flow that has ended is left out.
    private func flows(_ ids: some Collection<CommandID>) throws(StoreError) -> [FlowState] {
        var states: [CommandID: FlowState] = [:]
        for (number, ids) in Dictionary(grouping: ids, by: { $0.shard(of: shardCount) }) {
            try snapshot(shard: number) { shard throws(StoreError) in
                try shard.load(ids)
                var reading = FlowReading(shard)
                for id in ids {
                    guard let row = try shard.command(id), row.command.status == .blocked else { continue }
                    states[id] = try reading.flow(row)
                }
            }
        }
        return ids.compactMap { states[$0] }
    }

    /// Two round trips, whatever the number of shards: one where no flow is open.
    private func overview(_ shards: [Int]) throws(StoreError) -> RelationOverview {
        let max = RelationOverview.maxCounted
        let (open, found) = try read { transaction throws(StoreError) in
            try transaction.pipeline {
                $0.append(Self.openFlows, shards, max + 1)
                $0.append(Self.queues, shards, max + 1)
                $0.append(Self.scheduleStates, shards, max)
            } read: { (results, first) throws(StoreError) in
                var found: [Int: RelationOverview] = [:]
                let open = results.take(first).rows { row in row[0] as CommandID }
                for (shard, ids) in Dictionary(grouping: open, by: { $0.shard(of: shardCount) }) {
                    found[shard, default: RelationOverview()].flows.count = min(ids.count, max)
                    found[shard]?.flows.isComplete = ids.count <= max
                }
                let queues = results.take(first + 1).rows { row in
                    (shard: row[0] as Int, queue: OrderingKeyOverview.Queue(key: row[1], waiting: row[2]))
                }
                for (shard, queue) in queues { found[shard, default: RelationOverview()].keys.add(queue) }
                let schedules = results.take(first + 2).rows { row in
                    (
                        shard: row[0] as Int, name: row[1] as String, paused: row[2] as Bool,
                        next: row[3] as Timestamp?, reason: row[4] as String?
                    )
                }
                for state in schedules {
                    found[state.shard, default: RelationOverview()].schedules.add(
                        name: state.name, isPaused: state.paused, next: state.next, reason: state.reason)
                }
                return (open, found)
            }
        }
        var sum = RelationOverview()
        for (_, shard) in found.sorted(by: { $0.key < $1.key }) {
            var shard = shard
            shard.keys.isComplete = shard.keys.waiting <= max
            shard.schedules.isComplete = shard.schedules.count < max
            sum.add(shard)
        }
        let newest = shards.count == 1 ? open : open.sorted(by: >)
        sum.flows.newest = try flows(newest.prefix(FlowOverview.maxShown))
        return sum
    }
}
