internal import Commands
package import Store

/// Reads transitions from a store. Every call blocks.
///
/// A page ends where a transition may still come (``EventPage/complete``), so a reading behind it misses none.
package struct TransitionReader: Sendable {
    private let store: any TransitionStore

    init(_ store: any TransitionStore) { self.store = store }

    package init(_ queue: QueueAccess) { self.init(queue.store) }

    /// The number of shards of the store.
    package var shardCount: Int { store.shardCount }

    /// Behind the newest transition of each shard.
    /// - Parameter known: the numbers of shards that cannot be used now; nil: 0.
    package func newest(known: TransitionPosition? = nil) throws(StoreError) -> TransitionPosition {
        let numbers = try store.lastTransitions()
        return TransitionPosition(numbers.enumerated().map { $1 ?? known?.numbers[$0] ?? 0 })
    }

    /// The next transitions after a position.
    /// - Parameters:
    ///   - position: with a number for each shard.
    ///   - target: no transition behind it is read. A shard whose number is less than that of the position was restored
    ///     from a backup.
    ///   - limit: of the transitions. A shard that does not fit is read by the next call, from where this one ends.
    package func page(
        after position: TransitionPosition, to target: TransitionPosition, limit: Int
    ) throws(StoreError) -> TransitionPage {
        var end = position
        var prunedThrough = target
        var events: [StatusEvent] = []
        // A limit that ends in one shard must not starve the others: each begins with its share.
        let waiting = position.numbers.indices.filter { position.numbers[$0] != target.numbers[$0] }
        for (index, shard) in waiting.enumerated() where events.count < limit {
            let after = position.numbers[shard]
            guard after < target.numbers[shard] else {
                end.numbers[shard] = target.numbers[shard]
                continue
            }
            let share = max((limit - events.count) / (waiting.count - index), 1)
            let read = try store.ifUsable { () throws(StoreError) in
                try store.events(shard: shard, after: after, limit: share)
            }
            guard let read else {
                // A shard that is damaged is a gap.
                end.numbers[shard] = target.numbers[shard]
                continue
            }
            let last = max(after, min(read.complete, target.numbers[shard]))
            events += read.events.prefix { $0.transition.seq <= last }
            end.numbers[shard] = last
            prunedThrough.numbers[shard] = read.prunedThrough
        }
        return TransitionPage(from: position, to: end, prunedThrough: prunedThrough, events)
    }
}
