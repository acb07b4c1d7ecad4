package import Commands

/// Puts each shard's transitions into the order of their `seq`, and tells which are missing. Pure.
///
/// Reports of two workers meet here in any order, and producers report nothing: what stays missing for ``timeout`` is
/// to be read from the store.
package struct EventSequencer: Sendable {
    private struct Shard: Sendable {
        /// The next to be published.
        var next: Int64
        var waiting: [Int64: StatusEvent] = [:]
        var gapSince: Int64?
        var isReading = false
        /// The first that waited when a read was asked for: what the read does not find before it is gone for ever.
        var certain: Int64?
    }

    private var shards: [Shard]

    /// How long reports may overtake each other, in nanoseconds.
    package static let timeout: Int64 = 20_000_000
    /// From a read that failed to the next, in nanoseconds.
    private static let retry: Int64 = 1_000_000_000

    /// - Parameter newest: for each shard, the newest `seq` in the store; publishing starts behind it.
    package init(newest: [Int64]) { shards = newest.map { Shard(next: $0 + 1) } }

    /// Takes an event; publishes it, and what waited for it, in order. What was published before is dropped.
    package mutating func add(_ event: StatusEvent, now: Int64, publish: (StatusEvent) -> Void) {
        let index = event.shard
        guard shards.indices.contains(index) else { return }
        let seq = event.transition.seq
        if seq == shards[index].next {
            publish(event)
            shards[index].next += 1
            if !shards[index].waiting.isEmpty { drain(index, publish: publish) }
        } else if seq > shards[index].next {
            shards[index].waiting[seq] = event
            if shards[index].gapSince == nil { shards[index].gapSince = now }
        }
    }

    /// Shards whose gap has lasted, or that are `dirty` because a producer has written: read from these numbers on.
    package mutating func reads(now: Int64, dirty: Set<Int> = []) -> [(shard: Int, after: Int64)] {
        var reads: [(Int, Int64)] = []
        for index in shards.indices where !shards[index].isReading {
            let isOverdue = shards[index].gapSince.map { now - $0 >= Self.timeout } ?? false
            guard isOverdue || dirty.contains(index) else { continue }
            shards[index].isReading = true
            shards[index].certain = shards[index].waiting.keys.min()
            reads.append((index, shards[index].next - 1))
        }
        return reads
    }

    /// When the oldest gap has lasted long enough; nil while there is none.
    package var deadline: Int64? {
        shards.filter { !$0.isReading }.compactMap(\.gapSince).min().map { $0 + Self.timeout }
    }

    /// What the store had, in order. Within a shard transactions follow each other, so what is missing before one that was
    /// found has been pruned. - Returns: a gap that nothing can fill.
    package mutating func fill(
        shard index: Int, after: Int64, events: [StatusEvent], now: Int64, publish: (StatusEvent) -> Void
    ) -> ClosedRange<Int64>? {
        shards[index].isReading = false
        var gap: ClosedRange<Int64>?
        let next = shards[index].next
        let found = [events.first?.transition.seq, shards[index].certain].compactMap { $0 }.min()
        if let found, found > next, after + 1 == next {
            gap = next...(found - 1)
            shards[index].next = found
        }
        for event in events { add(event, now: now, publish: publish) }
        drain(index, publish: publish)
        return gap
    }

    /// The read failed; it is tried again in a second.
    package mutating func readFailed(shard: Int, now: Int64) {
        shards[shard].isReading = false
        if shards[shard].gapSince != nil { shards[shard].gapSince = now + Self.retry - Self.timeout }
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
