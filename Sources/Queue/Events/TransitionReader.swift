package import Commands
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

/// The transitions of a store between two positions.
///
/// It is complete: a number that is missing in it was never given, or its transition was pruned.
package struct TransitionPage: Sendable {
    package enum Change {
        case transition(StatusEvent)
        case gap(TransitionGap)
    }

    package let start: TransitionPosition
    package let end: TransitionPosition
    /// Up to these numbers, a missing transition was pruned. A number that is missing behind them was never given.
    private let prunedThrough: TransitionPosition
    /// In the order of their numbers within each shard.
    package let events: [StatusEvent]

    /// - Parameter prunedThrough: nil: every missing transition was pruned.
    package init(
        from start: TransitionPosition, to end: TransitionPosition, prunedThrough: TransitionPosition? = nil,
        _ events: [StatusEvent]
    ) {
        self.start = start
        self.end = end
        self.prunedThrough = prunedThrough ?? end
        self.events = events
    }

    /// Calls `body` with the transitions that a filter admits, and with the gaps, in the order of the transitions around
    /// them.
    /// - Parameter body: gets the position behind the change. For a gap, the position before it comes first: a transition
    ///   that the filter left out may lie between the last change and the gap.
    package func forEach(
        _ filter: TransitionFilter,
        _ body: (Change, _ before: TransitionPosition, _ after: TransitionPosition) -> Void
    ) {
        var position = start
        for event in events {
            let (shard, number) = (event.shard, event.transition.seq)
            close(shard, before: number, &position, body)
            let before = position
            position.numbers[shard] = number
            if filter.admits(event) { body(.transition(event), before, position) }
        }
        for shard in end.numbers.indices { close(shard, before: end.numbers[shard] + 1, &position, body) }
    }

    /// The changes that a filter admits, each with its position.
    package func changes(_ filter: TransitionFilter) -> [TransitionEvent] {
        var changes: [TransitionEvent] = []
        forEach(filter) { change, _, position in
            switch change {
            case .transition(let event):
                changes.append(TransitionEvent(.transition(CommandTransition(event)), position))
            case .gap(let gap): changes.append(TransitionEvent(.gap(gap), position))
            }
        }
        return changes
    }

    /// Reports the transitions between the position and `number` that were pruned. A number that is not beyond the position
    /// says that the store was restored from a backup, which lacks the numbers from it on.
    private func close(
        _ shard: Int, before number: Int64, _ position: inout TransitionPosition,
        _ body: (Change, TransitionPosition, TransitionPosition) -> Void
    ) {
        let last = position.numbers[shard]
        guard number - 1 != last else { return }
        let before = position
        position.numbers[shard] = number - 1
        let pruned = min(number - 1, prunedThrough.numbers[shard])
        // Numbers that were never given are not missing.
        guard number <= last || pruned > last else { return }
        let missing = number > last ? last + 1...pruned : number...last
        body(.gap(TransitionGap(shard: shard, numbers: missing)), before, position)
    }
}
