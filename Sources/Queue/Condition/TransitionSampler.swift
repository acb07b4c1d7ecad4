internal import Commands
package import Console
package import Store

/// Counts the transitions since its last reading, and collects the reasons of failures.
///
/// Of a busy shard it reads only the newest transitions, and scales their counts: a reading costs at most 20 ms. No
/// coordinator makes events for it.
package struct TransitionSampler {
    package struct Sample: Sendable, Equatable {
        /// Commands that ended with success since the last reading. A fraction where the count was scaled.
        package var succeeded = 0.0
        /// Commands that were cancelled or are in doubt, and executions that failed, since the last reading.
        package var failed = 0.0
        /// All transitions since the last reading.
        package var count: Int64 = 0
        /// The oldest first.
        package var problems: [WatchState.Problem] = []

        package init() {}
    }

    /// Transitions of a reading of all shards: 5 µs each.
    package static let maxRead = 4000

    /// The newest number of each shard at the last reading; nil: not read yet.
    private var newest: [Int64?] = []

    package init() {}

    /// Reads the transitions since the last call. Blocks.
    /// - Returns: nil where no shard was read before.
    package mutating func sample(_ queue: QueueAccess) throws(StoreError) -> Sample? {
        let store = queue.store
        if newest.count != store.shardCount { newest = Array(repeating: nil, count: store.shardCount) }
        var sample: Sample?
        for (shard, last) in try store.lastTransitions().enumerated() {
            guard let last else { continue }
            defer { newest[shard] = last }
            guard let known = newest[shard], known <= last else { continue }
            sample = sample ?? Sample()
            sample?.count += last - known
            if known < last { try read(shard, after: known, to: last, store, &sample) }
        }
        return sample
    }

    private func read(
        _ shard: Int, after known: Int64, to last: Int64, _ store: any CommandStore, _ sample: inout Sample?
    ) throws(StoreError) {
        let limit = max(Self.maxRead / store.shardCount, 16)
        let count = min(last - known, Int64(limit))
        let events = try store.events(shard: shard, after: last - count, limit: Int(count)).events
        guard !events.isEmpty else { return }
        let scale = Double(last - known) / Double(count)
        for event in events where event.transition.seq <= last {
            let transition = event.transition
            switch transition.status {
            case .success: sample?.succeeded += scale
            case .error, .cancelled, .inDoubt: sample?.failed += scale
            case .new, .queued, .sent, .blocked, .tooManyTimes: break
            }
            switch transition.status {
            case .error, .inDoubt, .tooManyTimes:
                sample?.problems.append(
                    WatchState.Problem(
                        at: transition.at.description, id: transition.id.description, status: transition.status.name,
                        reason: transition.reason ?? ""))
            default: break
            }
        }
    }
}
