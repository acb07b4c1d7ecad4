package import Commands
package import Console
internal import Host
package import NetworkControl
package import Store

extension QueueAccess {
    /// The destinations that have ready commands, also those that no coordinator has seen yet. The cost grows with their
    /// number.
    func readyDestinations() throws(StoreError) -> Set<Destination> {
        let shards = try store.mapShards(or: []) { shard throws(StoreError) in
            try store.readyKeys(shard: shard).map(\.destination)
        }
        return Set(shards.joined())
    }

    /// The causes for which commands wait. The cost depends on the number of links, not on that of commands.
    /// - Parameters:
    ///   - links: those whose commands are counted.
    ///   - others: further destinations whose commands are counted.
    ///   - workers: as they were read.
    package func waitCauses(
        links: [LinkReport], others: Set<Destination> = [], workers: [WorkerReading], now: Timestamp
    ) throws(StoreError) -> [WaitCause] {
        var causes = WaitCauses()
        causes.links = links
        causes.workers = workers
        causes.pauses = try pauses()
        causes.hasCoordinator = coordinator != nil
        causes.stalledCoordinator = stalledCoordinator
        causes.limits = RateLimit.parse(try store.settingsIfUsable(prefix: SettingKey.limitPrefix))
        let destinations =
            [.none] + Array(others.union(links.compactMap { Destination($0.destination) }).subtracting([.none]))
        var queues: [WaitingQueue.Name: WaitingQueue] = [:]
        let shards = try store.mapShards(or: [:]) { shard throws(StoreError) in
            try store.waitingQueues(of: destinations, shard: shard)
        }
        for shard in shards {
            queues.merge(shard) { sum, queue in
                var sum = sum
                sum.add(queue)
                return sum
            }
        }
        return causes.causes(of: queues, now: now)
    }
}
