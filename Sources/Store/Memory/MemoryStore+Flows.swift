package import Commands

extension MemoryStore {
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
            guard let parent = command(id) else { continue }
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

    private func reading<Value: Sendable>(
        _ id: CommandID, _ body: (inout FlowReading<MemoryShard>, StoredCommand) throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        try withShard(id.shard(of: shardCount)) { shard throws(StoreError) in
            guard let row = shard.rows[id] else { return nil }
            var reading = FlowReading(shard)
            return try body(&reading, row)
        }
    }

    package func openFlows(shard: Int, limit: Int) throws(StoreError) -> [FlowState] {
        try withShard(shard) { shard throws(StoreError) in try shard.openFlows(limit: limit) }
    }

    package func openBatches(shard: Int, limit: Int) throws(StoreError) -> [CommandID] {
        try withShard(shard) { shard throws(StoreError) in
            let open = shard.messages.parts.filter { $0.state != .ended }.map(\.batch)
            return Array(open.sorted(by: >).prefix(limit))
        }
    }

    package func relationOverview(shard: Int) throws(StoreError) -> RelationOverview {
        try withShard(shard) { shard throws(StoreError) in
            var overview = RelationOverview()
            let max = RelationOverview.maxCounted
            let flows = try shard.openFlows(limit: max + 1)
            overview.flows.count = min(flows.count, max)
            overview.flows.isComplete = flows.count <= max
            overview.flows.newest = Array(flows.prefix(FlowOverview.maxShown))
            for (key, turns) in shard.waiters.sorted(by: { $0.key < $1.key }) {
                overview.keys.add(OrderingKeyOverview.Queue(key: key, waiting: turns.count))
            }
            for schedule in shard.schedules.values.sorted(by: { $0.name < $1.name }) {
                let state = schedule.state
                overview.schedules.add(
                    name: schedule.name, isPaused: state.paused, next: state.next, reason: state.reason)
            }
            return overview
        }
    }
}

extension MemoryShard {
    fileprivate func openFlows(limit: Int) throws(StoreError) -> [FlowState] {
        var reading = FlowReading(self)
        var flows: [FlowState] = []
        let open = nodes.values.filter { $0.flags.contains(.flow) && $0.pending > 0 }.sorted { $0.turn > $1.turn }
        for node in open.prefix(limit) {
            guard let row = command(turn: node.turn), let flow = try reading.flow(row) else { continue }
            flows.append(flow)
        }
        return flows
    }
}

extension MemoryStore {
    package func open(_ batch: BatchDraft, allowUnknownTypes: Bool) throws(StoreError) -> CommandID {
        let now = clock.now()
        let limits = LimitCheck(batch.callbacks.map(\.draft), in: self)
        if let problem = batch.problem ?? batch.callbacks.lazy.compactMap({ limits.problem(of: $0.draft) }).first {
            throw problem
        }
        let types = types()
        if !allowUnknownTypes, let unknown = batch.callbacks.first(where: { !types.contains($0.draft.type) }) {
            throw .unknownType(unknown.draft.type, known: types)
        }
        var random = BufferedRandom()
        let ids = router.newIDs(1 + batch.callbacks.count, now: now, using: &random)
        let count = shardCount
        for shard in 0..<count {
            try withShard(shard) { shard in
                shard.save(BatchPart(batch: ids[0]))
                guard shard.number == ids[0].shard(of: count) else { return }
                shard.insert(BatchLayout(batch, ids: ids, turn: shard.turn + 1, shardCount: count, now: now))
            }
        }
        return ids[0]
    }

    package func seal(_ batch: CommandID) throws(StoreError) {
        guard command(batch)?.type == CommandType.batch else { throw StoreError.noBatch(batch) }
        for shard in 0..<shardCount {
            try withShard(shard) { shard throws(StoreError) in
                try BatchPart.seal(batch, shard: shard.number, &shard)
            }
        }
    }

    package func batch(_ id: CommandID) throws(StoreError) -> BatchState? {
        let count = shardCount
        let read = try withShard(id.shard(of: count)) { shard throws(StoreError) -> BatchReading? in
            guard let row = shard.rows[id] else { return nil }
            return try BatchReading(row, shardCount: count, &shard)
        }
        guard var reading = read else { return nil }
        for shard in 0..<count where reading.isOpen(shard: shard) {
            reading.add(try withShard(shard) { $0.part(of: id) })
        }
        return reading.state
    }

    package func outbox(shard: Int, after number: Int64, limit: Int) throws(StoreError) -> [ShardMessage] {
        try withShard(shard) { shard in Array(shard.messages.outbox.filter { $0.number > number }.prefix(limit)) }
    }

    package func receive(_ messages: [ShardMessage], shard: Int) throws(StoreError) -> Effects {
        try withShard(shard) { shard in
            shard.receive(messages, now: clock.now())
            return shard.takeEffects()
        }
    }

    package func remove(_ messages: [ShardMessage], shard: Int) throws(StoreError) {
        try withShard(shard) { $0.remove(messages) }
    }
}
