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

/// A command that a worker has claimed.
package struct ClaimedCommand: Sendable, Equatable {
    package var id: CommandID
    package var status: CommandStatus
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    package var seat: Int
    /// Of the worker.
    package var epoch: Int64
    package var claim: Int
    package var retries: Int
    package var suspect: Bool
    package var updatedAt: Timestamp
    /// The name of its rate limit.
    package var limit: String?

    /// - Parameter epoch: of the worker that sits in the seat of `command`.
    package init(_ command: Command, epoch: Int64) {
        id = command.id
        status = command.status
        type = command.type
        qos = command.qos
        destination = command.destination
        seat = command.seat ?? 0
        self.epoch = epoch
        claim = command.claim
        retries = command.retries
        suspect = command.suspect
        updatedAt = command.updatedAt
        limit = command.limit
    }
}
