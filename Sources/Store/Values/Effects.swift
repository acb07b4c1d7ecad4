package import Commands

/// The changes of commands that a call has committed, of whichever command: an end may release, cancel or block others.
package struct Effects: Sendable, Equatable {
    /// The transitions, each with its shard; those of one shard in the order of their numbers.
    package var events: [StatusEvent] = []
    /// The commands that may run now.
    package var ready: [ReadyCommand] = []
    /// The claimed commands that have a cancellation request since: their workers must be told.
    package var requests: [ClaimedCommand] = []
    /// Some shard of the call has more effects, which ``ExecutionStore/settle(shard:limit:)`` writes.
    package var hasMore = false

    package init() {}

    package var isEmpty: Bool { events.isEmpty && ready.isEmpty && requests.isEmpty && !hasMore }

    package func followed(by other: Effects) -> Effects {
        var effects = self
        effects.append(other)
        return effects
    }

    package mutating func append(_ other: Effects) {
        events += other.events
        ready += other.ready
        requests += other.requests
        hasMore = hasMore || other.hasMore
    }
}
