package import Commands

/// Where commands live. The store is the truth; every message between processes is a hint.
///
/// All calls block, those that write up to the busy deadline of 10 s: call them from a thread of your own, never from the
/// cooperative pool. Calls on different shards do not wait for each other; writes to one shard take turns, and nobody
/// waits for them to read.
/// Two implementations, one conformance suite: ``SQLiteStore`` and ``MemoryStore``.
package protocol CommandStore: Sendable {
    /// Shards of the store: a power of two from 1 to 256, fixed when it was created.
    var shardCount: Int { get }

    // MARK: Producers

    /// Makes commands durable. When this returns, every `.success` is on disk (`synchronous=FULL`).
    ///
    /// Drafts of one shard share a transaction; the shards commit one after the other or side by side, and a shard that
    /// fails fails its own drafts only.
    ///
    /// A draft whose unique key is held returns the command that holds the key, or `conflict` where that
    /// command has another payload or destination. A key whose period has lapsed at `now` goes to the draft
    /// in the transaction of the insert. A key is unique in its shard because its shard follows from it.
    /// - Parameter allowUnknownTypes: accept types that no worker has ever been able to run.
    /// - Returns: one result for each draft, in order.
    func submit(
        _ drafts: [CommandDraft], allowUnknownTypes: Bool, now: Timestamp
    ) -> [Result<Submission, StoreError>]

    /// Types that somebody can run or could once; see ``record(types:)``.
    func types() throws(StoreError) -> Set<String>
    /// Adds to the known types. Called by whoever greets a worker.
    func record(types: Set<String>) throws(StoreError)

    // MARK: Readers

    func command(_ id: CommandID) throws(StoreError) -> Command?
    func payload(_ id: CommandID) throws(StoreError) -> [UInt8]?
    /// What the operation left, as JSON.
    func result(_ id: CommandID) throws(StoreError) -> [UInt8]?
    /// The transitions of one command, oldest first.
    func timeline(_ id: CommandID) throws(StoreError) -> [Transition]
    /// Commands in the order of their ids. Reads at most `limit` (≤ 1,000) rows in one closed transaction per shard.
    func list(_ filter: CommandFilter, after: CommandID?, limit: Int) throws(StoreError) -> [Command]
    /// How many commands stand where. Kept by triggers of every write, so that it costs nothing.
    func counts() throws(StoreError) -> Counts

    // MARK: The coordinator's queue

    /// Ready commands (`new` or `error`, due, not waiting) of one destination and quality in the order of their turns.
    /// - Parameter afterTurn: exclusive; 0 starts at the oldest.
    func ready(
        shard: Int, destination: Destination, qos: QualityOfService, afterTurn: Int64, limit: Int
    ) throws(StoreError) -> [ReadyCommand]
    /// Which destinations have ready work, and of which quality; costs one index seek for each pair.
    func readyKeys(shard: Int) throws(StoreError) -> Set<ReadyKey>
    /// The ready ones among `ids`, all of one shard: what a hint is turned into.
    func ready(shard: Int, ids: [CommandID]) throws(StoreError) -> [ReadyCommand]
    /// Makes due what `notBefore` held back.
    /// - Returns: those commands, and the earliest moment at which another will be due.
    func promoteDue(
        shard: Int, now: Timestamp, limit: Int
    ) throws(StoreError) -> (ready: [ReadyCommand], next: Timestamp?)
    /// Moves the ends of backoffs after the wall clock has jumped, so that they last as long as they were meant to. What a
    /// producer asked for (`notBefore` of a `new` command) is a time of day, and stays.
    /// - Parameter writtenBefore: what was written at that moment or later stands in the new time already, and stays; nil
    ///   moves all.
    func shiftBackoffs(shard: Int, by jump: Duration, writtenBefore: Timestamp?) throws(StoreError)
    /// Cancels what its deadline has passed: waiting ones at once; for running ones the wish is recorded.
    /// - Returns: the transitions made, the claimed commands whose owners must be told, and the next deadline.
    func expire(shard: Int, now: Timestamp, limit: Int) throws(StoreError) -> Expiry
    /// Transitions of a shard with a greater `seq`, each with what an event needs of its command, oldest first.
    func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> [StatusEvent]
    /// The oldest and newest `seq` kept; nil where the shard has none.
    func transitionRange(shard: Int) throws(StoreError) -> ClosedRange<Int64>?
    /// Commands that are `queued` or `sent`, for snapshots and after a restart.
    func claimed(shard: Int) throws(StoreError) -> [ClaimedRow]
    /// Commands whose cancellation is wished and which somebody holds.
    func cancellationRequests(shard: Int) throws(StoreError) -> [ClaimedRow]

    // MARK: Executions

    /// Records in a shard that a worker sits in a seat. Claims of a (seat, epoch) without a session are refused.
    func open(_ session: Session, shard: Int) throws(StoreError)
    /// Ends the session of a worker that drained, once nothing is claimed by it. Where a shard is locked it is left to
    /// whoever reaps the seat.
    func close(seat: Int, epoch: Int64) throws(StoreError)
    func sessions() throws(StoreError) -> [Session]
    /// One group commit: all writes in one transaction, in order, durable when this returns.
    ///
    /// A write whose fence finds no row is `.replaced` (or `.refused`, for a claim) and fails nobody else's.
    /// - Parameter timeout: how long another process's turn is waited for before it is an error, `busy`.
    /// No writes are a question whether the shard can be written to.
    /// - Returns: one outcome for each write, in order.
    func apply(
        _ writes: [ExecutionWrite], shard: Int, seat: Int, epoch: Int64, now: Timestamp, timeout: Duration
    ) throws(StoreError) -> [ExecutionOutcome]
    /// After a worker's proven death: deletes its session and releases its commands, one transaction for each shard.
    ///
    /// Convicts the suspects that it was executing, or where there was none suspects all that it was executing. Runs to
    /// the end or can be run again: the shard in which a suspect of the dead worker was executing comes after those with
    /// other commands, so that a repeated call decides alike.
    /// - Parameters:
    ///   - counts: false where the death was ordered or came with a reboot; then nobody is charged or suspected.
    ///   - released: called with the transitions of each shard as soon as they are committed, and with what may run
    ///     again at once.
    ///   - started: what it had begun; nil where nobody knows, and all may have been. See ``StartedExecutions``.
    func reap(
        seat: Int, epoch: Int64, counts: Bool, started: StartedExecutions.Reading?, reason: String, now: Timestamp,
        released: ([StatusEvent], [ReadyCommand]) -> Void
    ) throws(StoreError)

    // MARK: Wishes of people

    func cancel(_ id: CommandID, reason: String, now: Timestamp) throws(StoreError) -> CancelOutcome
    /// A person's retry: resets retries, crashes, notBefore, the wish and a passed deadline; keeps the
    /// offset. A unique key that the command gave up is taken back, unless its period has lapsed.
    /// - Returns: the transition, or nil where the status does not allow it.
    /// - Throws: `conflict` where another command holds that key.
    func retry(_ id: CommandID, now: Timestamp) throws(StoreError) -> StatusEvent?
    /// Settles a command that is in doubt as success, new or cancelled.
    func resolve(_ id: CommandID, as status: CommandStatus, now: Timestamp) throws(StoreError) -> StatusEvent?
    /// Changes the quality of a command that is not final. - Returns: whether there was such a command.
    func requalify(_ id: CommandID, qos: QualityOfService, now: Timestamp) throws(StoreError) -> Bool

    // MARK: Settings and upkeep

    /// Settings are kept in shard 0: pauses, forced levels, rates. A nil value removes the key.
    /// - Parameter timeout: how long another process's turn is waited for before it is an error, `busy`.
    func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError)
    /// Settings whose key starts with `prefix`.
    func settings(prefix: String) throws(StoreError) -> [String: String]
    /// Deletes commands that ended before `before`, with their payloads, results and transitions, and old transitions
    /// of deleted ones. `tooManyTimes` and `inDoubt` only when they are among `statuses`.
    /// - Returns: what was deleted in this batch; call again until it is nothing.
    func prune(shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int) throws(StoreError) -> Pruned
    /// Copies WAL frames into the database under the write lock, so that nobody starts the WAL over meanwhile. Does
    /// nothing in memory.
    /// - Returns: bytes of WAL that remain to be copied.
    func checkpoint(shard: Int) throws(StoreError) -> Int64
    /// Bytes of the WAL of a shard as it stands.
    func walSize(shard: Int) -> Int64
    /// A consistent copy of every shard in `directory`, made while others write; checked with `integrity_check`.
    func backup(to directory: String, progress: (_ shard: Int) -> Void) throws(StoreError)
    /// `PRAGMA integrity_check` of one shard: empty when it is sound, else what SQLite says.
    func integrityCheck(shard: Int) throws(StoreError) -> [String]
}

extension CommandStore {
    /// As a person sets it: another process's turn is waited for as long as anywhere.
    package func set(_ key: String, to value: String?) throws(StoreError) {
        try set([(key, value)], timeout: longTimeout)
    }
}
