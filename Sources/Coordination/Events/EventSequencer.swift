package import Commands
package import Host
package import Store

/// Puts each shard's transitions into the order of their `seq`, and tells which are missing. Pure.
///
/// Reports of two workers arrive in any order, and producers report nothing. Transitions that stay missing
/// for ``timeout`` are read from the store. A number that was never given is passed over without a wait.
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
        /// How far the last page was complete that lacked a number which may still come, and since when.
        var open: (complete: Int64, since: MonotonicTime)?
    }

    private var shards: [Shard]

    /// Reports may overtake each other for this time.
    package static let timeout: Duration = .milliseconds(20)
    /// From a failed read to the next.
    private static let retryPause: Duration = .seconds(1)
    /// A store may wait for an open transaction for this time, before its pages are complete further on. The shard is read
    /// every ``timeout`` meanwhile. Later, numbers that such a read does not find are a gap.
    package static let maxOpen: Duration = .seconds(1)

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

    /// Takes in what the store had behind `after`, in order.
    /// - Returns: a gap that nothing can fill: transitions that were pruned, or whose transaction stays open.
    package mutating func fill(
        shard index: Int, after: Int64, _ page: EventPage, now: MonotonicTime, publish: (StatusEvent) -> Void
    ) -> ClosedRange<Int64>? {
        shards[index].isReading = false
        var gap: ClosedRange<Int64>?
        let next = shards[index].next
        let found = [page.events.first?.transition.seq, shards[index].firstWaiting].compactMap { $0 }.min()
        if let found, found > next, after + 1 == next {
            let settled = max(next, min(found, page.complete + 1))
            let pruned = min(settled - 1, page.prunedThrough)
            if pruned >= next { gap = next...pruned }
            shards[index].next = settled
            if settled < found, !waits(in: index, complete: page.complete, now: now) {
                gap = (gap?.lowerBound ?? settled)...(found - 1)
                shards[index].next = found
            }
        }
        for event in page.events {
            let seq = event.transition.seq
            if seq <= page.complete { pass(to: seq, of: page, in: index) }
            add(event, now: now, publish: publish)
        }
        pass(to: page.complete + 1, of: page, in: index)
        drain(index, publish: publish)
        return gap
    }

    /// Passes over numbers that were never given. The numbers before `seq` are not in the rest of the page.
    private mutating func pass(to seq: Int64, of page: EventPage, in index: Int) {
        guard shards[index].next > page.prunedThrough else { return }
        shards[index].next = max(shards[index].next, seq)
    }

    /// Whether a number behind those that are complete is waited for.
    private mutating func waits(in index: Int, complete: Int64, now: MonotonicTime) -> Bool {
        var since = now
        if let open = shards[index].open, open.complete == complete { since = open.since }
        shards[index].open = (complete, since)
        shards[index].gapSince = now
        return now - since < Self.maxOpen
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
