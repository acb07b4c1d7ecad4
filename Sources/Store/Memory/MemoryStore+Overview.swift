package import Commands

extension MemoryStore {
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
