package import Commands

/// The coordinator's queue: what may run, and when.
package protocol QueueStore: ShardedStore {
    /// Ready commands (`new` or `error`, and due) of one destination, quality of service and rate limit, in the order of
    /// their turns.
    /// - Parameter afterTurn: exclusive; 0 starts at the oldest.
    func ready(shard: Int, key: ReadyKey, afterTurn: Int64, limit: Int) throws(StoreError) -> [ReadyCommand]
    /// The keys of ``readyKeys(shard:)`` that have a rate limit.
    func limitedKeys(shard: Int) throws(StoreError) -> Set<ReadyKey>
    /// The number of ready commands of each rate limit. Reads all their rows.
    func readyCounts(shard: Int) throws(StoreError) -> [String: Int]
    /// The destinations and qualities of service that have ready commands, with their rate limits. Costs one index
    /// seek for each.
    func readyKeys(shard: Int) throws(StoreError) -> Set<ReadyKey>
    /// The queues of a shard that are not empty: those of the destinations, of every rate limit, and of commands that are
    /// not due. Reads index entries up to the limits of ``WaitingQueue``, so that the cost does not grow with the store.
    func waitingQueues(
        of destinations: [Destination], shard: Int
    ) throws(StoreError) -> [WaitingQueue.Name: WaitingQueue]
    /// The ready commands among `ids`, which are all of one shard. The coordinator looks up hints with it.
    func ready(shard: Int, ids: [CommandID]) throws(StoreError) -> [ReadyCommand]
    /// Takes the commands that became ready out of their turn (a retry, a change of quality, a release) from the list that
    /// the store keeps of them. A reader of ``ready(shard:key:afterTurn:limit:)`` may have passed them by.
    /// Those that are claimed, ended or deleted by now are left out.
    /// - Parameter limit: of the list. Call again until it is empty.
    func takeReadyAgain(shard: Int, limit: Int) throws(StoreError) -> [ReadyCommand]
    /// Whether that list is not empty.
    func hasReadyAgain(shard: Int) throws(StoreError) -> Bool
    /// Makes commands ready whose `notBefore` has come.
    /// - Returns: these commands, and the next `notBefore`.
    func promoteDue(shard: Int, limit: Int) throws(StoreError) -> PromotedCommands
    /// Shifts the ends of backoffs after the wall clock has jumped, so that they last as long as intended.
    /// The `notBefore` that a producer chose is a time of day, and is not shifted.
    /// - Parameter writtenBefore: rows updated at this time or later already use the new time and are not
    ///   shifted; nil shifts all.
    func shiftBackoffs(shard: Int, by jump: Duration, writtenBefore: Timestamp?) throws(StoreError)
    /// Clamps the waits between executions, to which a wall clock that was ahead may have added years. A wait that such a
    /// clock has written becomes as long as it was meant to be, and any other that exceeds
    /// ``RetryPolicy/longestWait`` becomes the longest backoff. The `notBefore` that a producer chose stays.
    func clampWaits(shard: Int) throws(StoreError)
    /// The newest turn whose command was submitted at a time outside of these, so that all later ones were submitted at one of
    /// them; 0 where there is none. Looks at most at the last 100,000 commands.
    func lastTurn(shard: Int, outside times: Range<Timestamp>) throws(StoreError) -> Int64
    /// The queues of commands whose deadline has passed; none while the clock is held (``ClockHold``).
    /// - Parameter limit: commands that are looked at.
    func passedDeadlines(shard: Int, limit: Int) throws(StoreError) -> Set<ReadyKey>
    /// Cancels commands whose deadline has passed, unless the clock is held (``ClockHold``). A waiting command is cancelled at once; a running one gets
    /// a cancellation request.
    /// - Parameter causes: why the commands of a queue could not start, for the reason; without one the last reason of
    ///   the command says it.
    /// - Returns: the effects, and the next deadline.
    func expire(shard: Int, limit: Int, causes: [ReadyKey: String]) throws(StoreError) -> Expiry
    /// Commands that are `queued` or `sent`. For snapshots, and for a coordinator that starts.
    func claimed(shard: Int) throws(StoreError) -> [ClaimedCommand]
    /// ``claimed(shard:)`` of every shard, in their order; empty for an unusable one.
    func claimed() throws(StoreError) -> [[ClaimedCommand]]
    /// Claimed commands that have a cancellation request.
    func cancellationRequests(shard: Int) throws(StoreError) -> [ClaimedCommand]

    /// Messages of a shard to others, in the order of their numbers.
    /// - Parameter after: the last that was read; 0 starts at the first.
    func outbox(shard: Int, after number: Int64, limit: Int) throws(StoreError) -> [ShardMessage]
    /// Writes what messages to commands of a shard effect. A message may be received again.
    func receive(_ messages: [ShardMessage], shard: Int) throws(StoreError) -> Effects
    /// Removes messages of a shard's outbox that were received.
    func remove(_ messages: [ShardMessage], shard: Int) throws(StoreError)

    /// The number of commands of one type and destination that an execution has left waiting: `new` or
    /// `error`, claimed before, and not due.
    func countHeldBack(shard: Int, type: String, destination: Destination) throws(StoreError) -> Int
    /// Makes the commands due that ``countHeldBack(shard:type:destination:)`` counts, so that
    /// ``promoteDue(shard:limit:)`` finds them. The `notBefore` that a producer chose stays.
    /// - Parameters:
    ///   - after: the end of the call before; nil starts.
    ///   - limit: held-back commands, of whichever type and destination, that one transaction looks at.
    /// - Returns: how many became due, and where to go on; nil at the end.
    func endWaits(
        shard: Int, type: String, destination: Destination, after: HeldBackPosition?, limit: Int
    ) throws(StoreError) -> (count: Int, next: HeldBackPosition?)

    // MARK: Several shards

    /// ``ready(shard:key:afterTurn:limit:)`` of several queues.
    /// - Parameter each: gets each read with its result, as soon as it is known.
    func ready(_ reads: [ReadyRead], each: (ReadyRead, Result<[ReadyCommand], StoreError>) -> Void)
    /// ``ready(shard:ids:)`` of commands in any shards.
    /// - Parameter each: gets the ids of a shard with those that are ready.
    func ready(ids: [CommandID], each: ([CommandID], Result<[ReadyCommand], StoreError>) -> Void)
    /// Looks for what no message told: ready commands, claims and cancellation requests.
    func sweep(_ shards: [ShardSweep], each: (ShardSweep, Result<SweptShard, StoreError>) -> Void)
    /// ``cancellationRequests(shard:)`` of several shards.
    func cancellationRequests(_ shards: [Int], each: (Int, Result<[ClaimedCommand], StoreError>) -> Void)
    /// ``promoteDue(shard:limit:)`` of several shards; each becomes durable alone.
    func promoteDue(_ shards: [Int], limit: Int, each: (Int, Result<PromotedCommands, StoreError>) -> Void)
    /// ``passedDeadlines(shard:limit:)`` of several shards.
    func passedDeadlines(_ shards: [Int], limit: Int, each: (Int, Result<Set<ReadyKey>, StoreError>) -> Void)
    /// ``expire(shard:limit:causes:)`` of several shards; each becomes durable alone.
    func expire(
        _ shards: [Int: [ReadyKey: String]], limit: Int, each: (Int, Result<Expiry, StoreError>) -> Void)
    /// The work that has come due in some shards, in one look; nil where each call looks for itself at little cost (default).
    func dueWork(_ shards: [Int]) throws(StoreError) -> DueWork?
    /// The shards among these whose outbox is not empty, or cannot be read.
    func shardsWithMessages(_ shards: [Int]) -> [Int]
}

/// Commands whose `notBefore` has come, and the next `notBefore`.
package typealias PromotedCommands = (ready: [ReadyCommand], next: Timestamp?)

extension QueueStore {
    package func expire(shard: Int, limit: Int) throws(StoreError) -> Expiry {
        try expire(shard: shard, limit: limit, causes: [:])
    }

    /// Ready commands of one destination and quality of service that have no rate limit.
    package func ready(
        shard: Int, destination: Destination, qos: QualityOfService, afterTurn: Int64, limit: Int
    ) throws(StoreError) -> [ReadyCommand] {
        try ready(
            shard: shard, key: ReadyKey(destination: destination, qos: qos), afterTurn: afterTurn, limit: limit)
    }
}

/// The result of cancelling commands whose deadline has passed.
package struct Expiry: Sendable, Equatable {
    package var effects: Effects
    /// The next deadline.
    package var next: Timestamp?

    package init(_ effects: Effects = Effects(), next: Timestamp?) {
        self.effects = effects
        self.next = next
    }
}

/// A position among the commands that are held back, which are in the order of their `notBefore`, then of their
/// turns.
package struct HeldBackPosition: Sendable, Equatable {
    var notBefore: Timestamp
    var turn: Int64
}

/// The waiting commands that one rule holds back together, in one shard or in all.
package struct WaitingQueue: Sendable, Equatable {
    package enum Name: Hashable, Sendable {
        /// Ready commands of a destination that have no rate limit.
        case destination(Destination)
        /// Ready commands of a rate limit.
        case limit(String)
        /// Commands whose `notBefore` has not come: the end of a backoff, or a time that their producer chose.
        case notBefore
    }

    /// Rate limits of a shard whose queues are read.
    package static let maxLimits = 100
    /// Commands of a queue that are counted in each shard.
    package static let maxCounted = 1000
    /// Commands that one reading of a shard counts. A queue behind them counts as one command that is not all.
    package static let maxCountedInAll = 20_000

    package var count: Int
    /// Whether `count` has all commands of the queue.
    package var isComplete: Bool
    /// Of the first command: the most urgent, or for ``Name/notBefore`` the one that is due next.
    package var qos: QualityOfService
    /// When the first command was submitted.
    package var since: Timestamp
    /// The next `notBefore`; nil for ready commands.
    package var due: Timestamp?
    /// Why the first command was released by its last execution; nil where it was not executed, or has failed.
    package var release: Release?

    package struct Release: Sendable, Equatable {
        package var reason: String
        package var at: Timestamp

        package init(reason: String, at: Timestamp) {
            self.reason = reason
            self.at = at
        }
    }

    /// The queues of a shard, in the order in which they are counted.
    static func names(_ limits: [String], _ destinations: [Destination]) -> [Name] {
        [.notBefore] + limits.map { .limit($0) } + destinations.map { .destination($0) }
    }

    /// A queue whose first command is `first`.
    package init(count: Int, isComplete: Bool, first: Command) {
        self.count = count
        self.isComplete = isComplete
        qos = first.qos
        since = first.createdAt
        due = first.notBefore > .zero ? first.notBefore : nil
        release =
            first.status == .new && first.claim > 0
            ? first.reason.map { Release(reason: $0, at: first.updatedAt) } : nil
    }

    /// Adds the queue of the same name of another shard. The newest release says most about the present.
    package mutating func add(_ other: WaitingQueue) {
        count += other.count
        isComplete = isComplete && other.isComplete
        if let released = other.release, released.at > release?.at ?? .zero {
            (release, qos) = (released, other.qos)
        } else if release == nil, other.qos > qos {
            qos = other.qos
        }
        since = min(since, other.since)
        due = [due, other.due].compactMap(\.self).min()
    }
}
