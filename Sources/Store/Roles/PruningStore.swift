package import Commands

/// Removes what commands have left behind.
package protocol PruningStore: ShardedStore {
    /// Replaces the records of ``Leftover``s that are due by commands that remove the remains, and takes the
    /// checkpoints away, in one transaction. Does nothing while the clock is held (``ClockHold``).
    /// - Parameters:
    ///   - limit: records in one batch. Call again until a batch is empty.
    ///   - cleanup: makes the command, in the transaction; nil where nothing is to be removed, and then the
    ///     checkpoint stays.
    /// - Returns: the number of records.
    func cleanUp(shard: Int, limit: Int, _ cleanup: (Leftover) -> CommandDraft?) throws(StoreError) -> Int
    /// Deletes commands that ended before `before` in one of `statuses`, with their payloads, results and
    /// transitions. A command with a ``Leftover`` stays, and the leftover is due at once. Deletes nothing while the clock
    /// is held (``ClockHold``).
    /// - Parameter limit: commands in one batch. Call again until a batch is empty.
    func prune(shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int) throws(StoreError)
        -> PruneResult
    /// The shards in which ``cleanUp(shard:limit:_:)`` may find something. Default: all.
    func shardsWithLeftovers() throws(StoreError) -> [Int]
    /// The shards in which ``prune(shard:before:statuses:limit:)`` may find something. Default: all.
    func shardsToPrune(before: Timestamp, statuses: Set<CommandStatus>) throws(StoreError) -> [Int]
    /// Makes room of deleted rows, where an engine does not do so at once, and has not done so for a minute. Default: nothing.
    func reclaimDeletedRows() throws(StoreError)
}

extension PruningStore {
    package func reclaimDeletedRows() throws(StoreError) {}

    package func shardsWithLeftovers() throws(StoreError) -> [Int] { Array(0..<shardCount) }

    package func shardsToPrune(before: Timestamp, statuses: Set<CommandStatus>) throws(StoreError) -> [Int] {
        Array(0..<shardCount)
    }
}

/// The commands that one batch of pruning deleted.
package struct PruneResult: Sendable, Equatable {
    /// The number of commands.
    package var count = 0
    /// Payloads of the commands that did not end in success. Spooled files that they name have no other
    /// owner.
    package var abandoned: [[UInt8]] = []

    /// The number of commands that stay until ``CommandStore/cleanUp(shard:limit:_:)`` has taken care of
    /// their remains.
    package var held = 0
    /// The next search begins behind the start of this one, or finds other commands.
    package var hasMoved = false

    /// The search has found nothing more.
    package var isEnd: Bool { count == 0 && !hasMoved }

    package init() {}
}

/// A command that ended although its checkpoint names something that no execution will use any more: a
/// multipart upload, or the part file of a download.
///
/// The transaction that ends a command records its leftover, where the command has a checkpoint.
/// ``CommandStore/cleanUp(shard:limit:_:)`` replaces the record by a command that removes the remains.
package struct Leftover: Sendable, Equatable {
    /// The time for which the checkpoint of a dead letter is kept: a person may find the cause and retry the
    /// command, which then goes on where it was.
    package static let deadLetterDelay: Duration = .seconds(86_400)

    /// As it ended.
    package var command: Command
    package var payload: [UInt8]
    package var checkpoint: [UInt8]

    package init(command: Command, payload: [UInt8], checkpoint: [UInt8]) {
        self.command = command
        self.payload = payload
        self.checkpoint = checkpoint
    }

    /// Whether no execution can use the checkpoint. A command in doubt is still to be settled by a person.
    var isOfEnded: Bool { command.status.isFinal && command.status != .inDoubt }

    /// When the remains of a command that has just ended may be removed.
    static func due(_ command: Command) -> Timestamp {
        command.status == .tooManyTimes ? command.updatedAt + deadLetterDelay : command.updatedAt
    }
}
