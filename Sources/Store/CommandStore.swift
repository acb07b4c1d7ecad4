package import Commands
package import Host

/// Keeps the commands. The store is the truth; every message between processes is a hint.
///
/// All calls block, and a write waits up to 10 s for other writes (``WriteTimeout``): call them from a thread
/// of your own, never from the cooperative pool. Writes to one shard take turns. Reads, and calls on
/// different shards, do not wait for each other.
///
/// Two implementations share one conformance suite: ``SQLiteStore`` and ``MemoryStore``.
package protocol CommandStore: Sendable {
    /// The number of shards: a power of two from 1 to 256, fixed when the store was created.
    var shardCount: Int { get }

    // MARK: Producers

    /// Makes commands durable. When this returns, every `.success` is on disk (`synchronous=FULL`).
    ///
    /// The drafts of one shard share a transaction. The shards commit one after the other or in parallel, and
    /// a shard that fails affects only its own drafts.
    ///
    /// A draft whose unique key is held returns the command that holds the key, or `conflict` where that
    /// command has another payload or destination. A key whose period has lapsed at `now` goes to the draft
    /// in the transaction of the insert. The shard of a command follows from its unique key, so a key that is
    /// unique in its shard is unique.
    /// - Parameter allowUnknownTypes: accepts types that no worker has ever been able to run.
    /// - Returns: one result for each draft, in order.
    func submit(
        _ drafts: [CommandDraft], allowUnknownTypes: Bool, now: Timestamp
    ) -> [Result<Submission, StoreError>]

    /// The known types: those that a worker can run, or once could. See ``record(types:)``.
    func types() throws(StoreError) -> Set<String>
    /// Adds known types. The coordinator calls it when a worker registers.
    func record(types: Set<String>) throws(StoreError)

    // MARK: Readers

    /// Nil where there is no such command.
    func command(_ id: CommandID) throws(StoreError) -> Command?
    func payload(_ id: CommandID) throws(StoreError) -> [UInt8]?
    /// The JSON that a successful execution returned; nil where there is none.
    func result(_ id: CommandID) throws(StoreError) -> [UInt8]?
    /// The transitions of one command, oldest first.
    func timeline(_ id: CommandID) throws(StoreError) -> [Transition]
    /// Commands in the order of their ids, or in the reverse order. Each shard is read in slices of at most 1,000
    /// rows, each in a transaction that is closed before the next.
    /// - Parameters:
    ///   - after: excluded; nil starts at the first.
    ///   - limit: at most 1,000.
    ///   - until: when to stop looking, and to return what was found; nil: at the limit or at the end.
    func page(
        _ filter: CommandFilter, order: CommandOrder, after: CommandID?, limit: Int, until: MonotonicTime?
    ) throws(StoreError) -> CommandPage
    /// The commands whose ids begin or end with some digits; where there are none, those whose ids contain them.
    /// The newest first, at most `limit`.
    func find(_ part: CommandIDPart, limit: Int) throws(StoreError) -> [Command]
    /// The number of commands by status and quality of service. Every write updates stored counts, so that
    /// this read is cheap.
    func counts() throws(StoreError) -> CommandCounts

    // MARK: The coordinator's queue

    /// Ready commands (`new` or `error`, and due) of one destination and quality of service, in the order of
    /// their turns.
    /// - Parameter afterTurn: exclusive; 0 starts at the oldest.
    func ready(
        shard: Int, destination: Destination, qos: QualityOfService, afterTurn: Int64, limit: Int
    ) throws(StoreError) -> [ReadyCommand]
    /// The pairs of destination and quality of service that have ready commands. Costs one index seek for
    /// each pair.
    func readyKeys(shard: Int) throws(StoreError) -> Set<ReadyKey>
    /// The ready commands among `ids`, which are all of one shard. The coordinator looks up hints with it.
    func ready(shard: Int, ids: [CommandID]) throws(StoreError) -> [ReadyCommand]
    /// Takes the commands that became ready out of their turn (a retry, a change of quality, a release) from the list that
    /// the store keeps of them. A reader of ``ready(shard:destination:qos:afterTurn:limit:)`` may have passed them by.
    /// Those that are claimed, ended or deleted by now are left out.
    /// - Parameter limit: of the list. Call again until it is empty.
    func takeReadyAgain(shard: Int, limit: Int) throws(StoreError) -> [ReadyCommand]
    /// Makes commands ready whose `notBefore` has come.
    /// - Returns: these commands, and the next `notBefore`.
    func promoteDue(
        shard: Int, now: Timestamp, limit: Int
    ) throws(StoreError) -> (ready: [ReadyCommand], next: Timestamp?)
    /// Shifts the ends of backoffs after the wall clock has jumped, so that they last as long as intended.
    /// The `notBefore` that a producer chose is a time of day, and is not shifted.
    /// - Parameter writtenBefore: rows updated at this time or later already use the new time and are not
    ///   shifted; nil shifts all.
    func shiftBackoffs(shard: Int, by jump: Duration, writtenBefore: Timestamp?) throws(StoreError)
    /// Cancels commands whose deadline has passed. A waiting command is cancelled at once; a running one gets
    /// a cancellation request.
    /// - Returns: the transitions made, the claimed commands whose workers must be told, and the next
    ///   deadline.
    func expire(shard: Int, now: Timestamp, limit: Int) throws(StoreError) -> Expiry
    /// Transitions of a shard after `seq`, as events, oldest first.
    func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> [StatusEvent]
    /// The oldest and newest `seq` of the shard; nil where it has no transitions.
    func transitionRange(shard: Int) throws(StoreError) -> ClosedRange<Int64>?
    /// Commands that are `queued` or `sent`. For snapshots, and for a coordinator that starts.
    func claimed(shard: Int) throws(StoreError) -> [ClaimedCommand]
    /// Claimed commands that have a cancellation request.
    func cancellationRequests(shard: Int) throws(StoreError) -> [ClaimedCommand]

    /// The number of commands of one type and destination that an execution has left waiting: `new` or
    /// `error`, claimed before, and not due.
    func countHeldBack(shard: Int, type: String, destination: Destination) throws(StoreError) -> Int
    /// Makes the commands due that ``countHeldBack(shard:type:destination:)`` counts, so that
    /// ``promoteDue(shard:now:limit:)`` finds them. The `notBefore` that a producer chose stays.
    /// - Parameters:
    ///   - after: the end of the call before; nil starts.
    ///   - limit: held-back commands, of whichever type and destination, that one transaction looks at.
    /// - Returns: how many became due, and where to go on; nil at the end.
    func endWaits(
        shard: Int, type: String, destination: Destination, after: HeldBackPosition?, limit: Int
    ) throws(StoreError) -> (count: Int, next: HeldBackPosition?)

    // MARK: Executions

    /// Records in a shard that a worker has a seat. Claims of a (seat, epoch) without a session are refused.
    func open(_ session: Session, shard: Int) throws(StoreError)
    /// Ends the session of a worker that has drained, in each shard where it has no claimed command. In a
    /// locked shard the session stays until the coordinator reaps the seat.
    func close(seat: Int, epoch: Int64) throws(StoreError)
    /// The sessions of all workers that have not been reaped, by seat.
    func sessions() throws(StoreError) -> [Session]
    /// One group commit: all writes in one transaction, in order, durable when this returns.
    ///
    /// A write whose fence finds no row is `.replaced` (or `.refused`, for a claim) and does not affect the
    /// others.
    /// - Parameters:
    ///   - writes: called once the shard can be written to, so that what comes during the wait goes along. An empty
    ///     array tests whether the shard can be written to.
    ///   - now: read after `writes`.
    ///   - timeout: how long to wait for the write lock that another process holds.
    /// - Returns: one outcome for each write, in order.
    /// - Throws: `busy` after `timeout`; `writes` was not called then.
    func apply(
        _ writes: () -> [ExecutionWrite], shard: Int, seat: Int, epoch: Int64, now: @autoclosure () -> Timestamp,
        timeout: Duration
    ) throws(StoreError) -> [ExecutionOutcome]
    /// Deletes the session of a worker that is proven dead and releases its commands, in one transaction a
    /// shard.
    ///
    /// A suspect that the worker was executing is charged with the death. Where there was no suspect, all
    /// commands that it was executing become suspects. A call that was interrupted can be repeated and
    /// decides alike: the shard in which the worker was executing a suspect comes after the shards with other
    /// commands.
    /// - Parameters:
    ///   - charges: false where the death was intentional or came with a reboot; then no command is charged or
    ///     suspected.
    ///   - started: the executions that the worker had started; nil where they are not known, and all may
    ///     have been started. See ``StartedExecutions``.
    ///   - reason: why the commands are released, in a sentence.
    ///   - released: called after the commit of each shard, with its transitions and the commands that may
    ///     run again at once.
    func reap(
        seat: Int, epoch: Int64, charges: Bool, started: StartedExecutions.Reading?, reason: String, now: Timestamp,
        released: ([StatusEvent], [ReadyCommand]) -> Void
    ) throws(StoreError)

    // MARK: Requests of people

    /// Cancels a waiting command at once; records a cancellation request for a claimed one.
    /// - Throws: `notFound`.
    func cancel(_ id: CommandID, reason: String, now: Timestamp) throws(StoreError) -> CancelOutcome
    /// Cancels several commands of one shard in one transaction. Ids without a command are left out.
    func cancel(_ ids: [CommandID], shard: Int, reason: String, now: Timestamp) throws(StoreError) -> [CancelOutcome]
    /// Makes an ended or failed command run again, as a person asks. Resets retries, crashes, `notBefore`,
    /// the cancellation request and a passed deadline; keeps the offset. The command takes back a unique key
    /// that it gave up, unless the key's period has lapsed.
    /// - Returns: the transition; nil where the status does not allow it.
    /// - Throws: `conflict` where another command holds the key; `notFound`.
    func retry(_ id: CommandID, now: Timestamp) throws(StoreError) -> StatusEvent?
    /// Settles a command that is in doubt as `success`, `new` or `cancelled`.
    /// - Returns: the transition; nil where the command is not in doubt.
    /// - Throws: `notFound`.
    func resolve(_ id: CommandID, as status: CommandStatus, now: Timestamp) throws(StoreError) -> StatusEvent?
    /// Changes the quality of service of a command that has not ended.
    /// - Returns: false where there is no such command.
    func requalify(_ id: CommandID, qos: QualityOfService, now: Timestamp) throws(StoreError) -> Bool

    // MARK: Settings and upkeep

    /// Writes settings, which shard 0 keeps; see ``SettingKey``. A nil value removes the key.
    /// - Parameter timeout: how long to wait for the write lock that another process holds.
    /// - Throws: `busy` after `timeout`.
    func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError)
    /// Replaces the value of one setting in a transaction, so that no write of another process is lost
    /// between the read and the write.
    /// - Parameters:
    ///   - timeout: how long to wait for the write lock that another process holds.
    ///   - change: gets the value, nil where there is none, and returns the new one, nil to remove the key.
    /// - Throws: `busy` after `timeout`.
    func update(_ key: String, timeout: Duration, _ change: (String?) -> String?) throws(StoreError)
    /// The value of one setting; nil where there is none.
    func setting(_ key: String) throws(StoreError) -> String?
    /// Settings whose key starts with `prefix`.
    func settings(prefix: String) throws(StoreError) -> [String: String]
    /// Replaces the records of ``Leftover``s that are due by commands that remove the remains, and takes the
    /// checkpoints away, in one transaction.
    /// - Parameters:
    ///   - limit: records in one batch. Call again until a batch is empty.
    ///   - cleanup: makes the command, in the transaction; nil where nothing is to be removed, and then the
    ///     checkpoint stays.
    /// - Returns: the number of records.
    func cleanUp(shard: Int, now: Timestamp, limit: Int, _ cleanup: (Leftover) -> CommandDraft?) throws(StoreError)
        -> Int
    /// Deletes commands that ended before `before` in one of `statuses`, with their payloads, results and
    /// transitions. A command with a ``Leftover`` stays, and the leftover is due at once.
    /// - Parameter limit: commands in one batch. Call again until a batch is empty.
    func prune(shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int) throws(StoreError)
        -> PruneResult
    /// Brings a shard to this program's version, in one transaction. Does nothing in memory.
    /// - Parameter epochs: of the workers whose programs know that version. The session of any other worker
    ///   prevents the migration.
    func migrate(shard: Int, epochs: Set<Int64>) throws(StoreError) -> ShardMigration
    /// Copies WAL frames into the database under the write lock, so that no process starts the WAL over
    /// meanwhile. Does nothing in memory.
    /// - Returns: bytes of WAL that remain to be copied.
    func checkpoint(shard: Int) throws(StoreError) -> Int64
    /// Bytes of the WAL of a shard.
    func walSize(shard: Int) -> Int64
    /// Makes a copy of every shard in `directory` while other processes write, and checks each copy with
    /// `integrity_check`. Each copy is of one moment, and is marked as a backup.
    /// - Returns: the errors of the shards that cannot be copied; the copies of the others are complete.
    /// - Throws: where no shard can be copied, or the copies cannot be written.
    func backup(to directory: String, progress: (BackupProgress) -> Void) throws(StoreError) -> [StoreError]
    /// Runs `PRAGMA integrity_check` on one shard.
    /// - Returns: the problems that SQLite reports; empty where there are none.
    func integrityCheck(shard: Int) throws(StoreError) -> [String]
}

extension CommandStore {
    /// One group commit of writes that are known before the wait.
    package func apply(
        _ writes: [ExecutionWrite], shard: Int, seat: Int, epoch: Int64, now: Timestamp, timeout: Duration
    ) throws(StoreError) -> [ExecutionOutcome] {
        try apply({ writes }, shard: shard, seat: seat, epoch: epoch, now: now, timeout: timeout)
    }

    /// Writes one setting. Waits for other writes as long as a submit does.
    package func set(_ key: String, to value: String?) throws(StoreError) {
        try set([(key, value)], timeout: WriteTimeout.foreground)
    }

    /// Replaces the value of one setting. Waits for other writes as long as a submit does.
    package func update(_ key: String, _ change: (String?) -> String?) throws(StoreError) {
        try update(key, timeout: WriteTimeout.foreground, change)
    }
}
