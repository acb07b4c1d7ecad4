package import Commands
package import Host

/// Puts each shard's transitions into the order of their `seq`, and tells which are missing. Pure.
///
/// Reports of two workers arrive in any order, and producers report nothing. Transitions that stay missing
/// for ``timeout`` are read from the store.
package struct EventSequencer: Sendable {
    private struct Shard: Sendable {
        /// Number of the next transition to be published.
        var next: Int64
        var waiting: [Int64: StatusEvent] = [:]
        var gapSince: MonotonicTime?
        var isReading = false
        /// The first that waited when a read was requested. Transitions before it that the read does not find
        /// are gone for ever.
        var firstWaiting: Int64?
    }

    private var shards: [Shard]

    /// Reports may overtake each other for this time.
    package static let timeout: Duration = .milliseconds(20)
    /// From a failed read to the next.
    private static let retryPause: Duration = .seconds(1)

    /// - Parameter newest: for each shard, the newest `seq` in the store; publishing starts after it.
    package init(newest: [Int64]) { shards = newest.map { Shard(next: $0 + 1) } }

    /// Takes an event in, and publishes it and the events that waited for it, in order. An event that was
    /// published before is dropped.
    package mutating func add(_ event: StatusEvent, now: MonotonicTime, publish: (StatusEvent) -> Void) {
        let index = event.shard
        guard shards.indices.contains(index) else { return }
        let seq = event.transition.seq
        // A store does not get that far: the number is of a damaged frame, and has no next one.
        guard seq < .max else { return }
        if seq == shards[index].next {
            publish(event)
            shards[index].next += 1
            if !shards[index].waiting.isEmpty { drain(index, publish: publish) }
        } else if seq > shards[index].next {
            shards[index].waiting[seq] = event
            if shards[index].gapSince == nil { shards[index].gapSince = now }
        }
    }

    /// Shards to be read, and the number behind which to read: their gap has lasted, or they are `dirty`
    /// because a producer has written.
    package mutating func reads(now: MonotonicTime, dirty: Set<Int> = []) -> [(shard: Int, after: Int64)] {
        var reads: [(Int, Int64)] = []
        for index in shards.indices where !shards[index].isReading {
            let isOverdue = shards[index].gapSince.map { now - $0 >= Self.timeout } ?? false
            guard isOverdue || dirty.contains(index) else { continue }
            shards[index].isReading = true
            shards[index].firstWaiting = shards[index].waiting.keys.min()
            reads.append((index, shards[index].next - 1))
        }
        return reads
    }

    /// When the oldest gap is to be read; nil while there is none.
    package var deadline: MonotonicTime? {
        shards.filter { !$0.isReading }.compactMap(\.gapSince).min().map { $0 + Self.timeout }
    }

    /// Takes in what the store had, in order. Within a shard, transactions follow each other: a transition
    /// that is missing before one that was found has been pruned.
    /// - Returns: a gap that nothing can fill.
    package mutating func fill(
        shard index: Int, after: Int64, events: [StatusEvent], now: MonotonicTime, publish: (StatusEvent) -> Void
    ) -> ClosedRange<Int64>? {
        shards[index].isReading = false
        var gap: ClosedRange<Int64>?
        let next = shards[index].next
        let found = [events.first?.transition.seq, shards[index].firstWaiting].compactMap { $0 }.min()
        if let found, found > next, after + 1 == next {
            gap = next...(found - 1)
            shards[index].next = found
        }
        for event in events { add(event, now: now, publish: publish) }
        drain(index, publish: publish)
        return gap
    }

    /// The read failed; it is tried again after ``retryPause``.
    package mutating func readFailed(shard: Int, now: MonotonicTime) {
        shards[shard].isReading = false
        if shards[shard].gapSince != nil { shards[shard].gapSince = now + Self.retryPause - Self.timeout }
    }

    private mutating func drain(_ index: Int, publish: (StatusEvent) -> Void) {
        while let event = shards[index].waiting.removeValue(forKey: shards[index].next) {
            publish(event)
            shards[index].next += 1
        }
        let next = shards[index].next
        if shards[index].waiting.isEmpty {
            shards[index].gapSince = nil
        } else if shards[index].waiting.keys.contains(where: { $0 < next }) {
            shards[index].waiting = shards[index].waiting.filter { $0.key >= next }
            if shards[index].waiting.isEmpty { shards[index].gapSince = nil }
        }
    }
}
