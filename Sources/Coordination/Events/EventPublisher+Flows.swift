internal import Commands
internal import Host
internal import Store

/// The progress of flows.
extension EventPublisher {
    /// Reads the flows that may have changed, on the reader's thread, and publishes those that have.
    func publishFlows(now: MonotonicTime) {
        guard hub.wantsFlows else { return }
        let round = flows.round(
            now: now, shardCount: store.shardCount, wantsAll: hub.wantsAllFlows, watched: hub.watchedFlows)
        guard let round else { return }
        store.read("Flows cannot be read") { store throws(StoreError) in
            var found: [FlowState] = []
            for shard in round.shards {
                // A shard that cannot be read hides no other.
                do throws(StoreError) {
                    found += try store.openFlows(shard: shard, limit: FlowChanges.maxRead)
                } catch {
                    guard error.code.makesShardUnusable else { throw error }
                }
            }
            let ids = Set(found.map(\.command.id))
            for id in round.flows where !ids.contains(id) {
                if let flow = try store.flow(id) { found.append(flow) }
            }
            return found
        } then: { [self] found in
            let at = store.clock.now()
            for (flow, isSnapshot) in flows.take(found, of: round, now: .now) {
                hub.flow(flow, at: at, snapshot: isSnapshot)
            }
        } otherwise: { [self] _ in
            flows.readFailed(round, now: .now)
        }
    }

    /// Tells new subscribers how the flows stand that they want.
    func publishFlows(to new: EventHub.NewSubscriptions, now: MonotonicTime) {
        guard hub.wantsFlows else { return flows.reset() }
        guard new.hasAllFlows || !new.flows.isEmpty else { return }
        flows.subscribe(allIn: 0..<(new.hasAllFlows ? store.shardCount : 0), flows: new.flows)
        publishFlows(now: now)
    }
}
