package import Commands

/// The calls of a worker, and of the coordinator when a worker has died.
package protocol ExecutionStore: ShardedStore {
    /// Records in a shard that a worker has a seat. Claims of a (seat, epoch) without a session are refused.
    func open(_ session: Session, shard: Int) throws(StoreError)
    /// Ends the session of a worker that has drained, in each shard where it has no claimed command. In a
    /// locked shard the session stays until the coordinator reaps the seat.
    func close(seat: Int, epoch: Int64) throws(StoreError)
    /// The sessions of all workers that have not been reaped.
    func sessionReading() throws(StoreError) -> SessionReading
    /// One commit of a group: all writes in one transaction, in order, durable when this returns.
    ///
    /// A write belongs to the shard of its command's id. The clock of the store is read after `writes`. A write whose fence
    /// finds no row is `.replaced` (or `.refused`, for a claim) and does not affect the others.
    /// - Parameters:
    ///   - writes: to shards of `group`. Called once these can be written to, so that what comes during the wait goes
    ///     along. An empty array tests whether they can be written to.
    /// - Returns: one outcome for each write, in order, and the effects on other commands.
    /// - Throws: `busy` after the timeout of the attempt; `writes` was not called then. `unknown`: the writes are all durable,
    ///   or none is. After any other error nothing is written in any shard.
    func apply(
        _ writes: () -> [ExecutionWrite], group: CommitGroup, seat: Int, epoch: Int64, _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome
    /// Writes effects on other commands that earlier transactions have left (``Effects/hasMore``).
    /// - Parameter limit: rows that the call changes.
    func settle(shard: Int, limit: Int) throws(StoreError) -> Effects
    /// ``settle(shard:limit:)`` of several shards; each becomes durable alone.
    /// - Parameter each: gets the effects of each shard, as soon as they are durable.
    func settle(_ shards: [Int], limit: Int, each: (Int, Result<Effects, StoreError>) -> Void)
    /// Deletes the session of a worker that is proven dead and releases its commands, in one transaction a
    /// shard.
    ///
    /// A suspect that the worker was executing is charged with the death. Where there was no suspect, all
    /// commands that it was executing become suspects. A call that was interrupted can be repeated and
    /// decides alike: the shard in which the worker was executing a suspect comes after the shards with other
    /// commands.
    /// - Parameters:
    ///   - verdict: what is known of the death.
    ///   - released: called after the commit of each shard, with its transitions, and the commands that may run
    ///     again at once.
    func reap(
        seat: Int, epoch: Int64, _ verdict: DeathVerdict, released: (Effects) -> Void
    ) throws(StoreError)
}

extension ExecutionStore {
    package func settle(_ shards: [Int], limit: Int, each: (Int, Result<Effects, StoreError>) -> Void) {
        for shard in shards { each(shard, Result { () throws(StoreError) in try settle(shard: shard, limit: limit) }) }
    }

    /// The sessions of ``sessionReading()``, by seat.
    package func sessions() throws(StoreError) -> [Session] { try sessionReading().sessions }
}

/// The knowledge of the death of a worker, for ``ExecutionStore/reap(seat:epoch:_:released:)``.
package struct DeathVerdict: Sendable, Equatable {
    /// False where the death was intentional or came with a reboot; then no command is charged or suspected.
    package var charges: Bool
    /// The executions that the worker had started; nil where they are not known, and all may have been started.
    package var started: StartedExecutions?
    /// Why the commands are released, in a sentence.
    package var reason: String

    package init(charges: Bool, started: StartedExecutions? = nil, reason: String) {
        self.charges = charges
        self.started = started
        self.reason = reason
    }

    /// Whether the worker was executing a command.
    func wasExecuting(_ id: CommandID) -> Bool { started?.executing.contains(id) ?? true }

    /// Whether bytes of a command may have left.
    func hadStarted(_ id: CommandID) -> Bool { wasExecuting(id) || started?.ended.contains(id) ?? true }

    /// The part of a command in the death.
    /// - Parameter suspects: that the worker was executing, in all shards.
    func blame(_ command: Command, suspects: Int) -> StoredCommand.Blame {
        charges && wasExecuting(command.id) ? .of(command, executingSuspects: suspects) : .none
    }
}

/// The executions that a dead worker had started, by its intent log, and whose ends are not committed.
package struct StartedExecutions: Sendable, Equatable {
    /// Each of these may have caused the death.
    package var executing: Set<CommandID> = []
    /// Bytes of these may have left, but they did not run when the worker died.
    package var ended: Set<CommandID> = []

    package init(executing: Set<CommandID> = [], ended: Set<CommandID> = []) {
        self.executing = executing
        self.ended = ended
    }
}

/// A worker in a seat. Its row says that the worker has not been reaped yet.
package struct Session: Sendable, Equatable {
    package var seat: Int
    /// Random, 63 bits: a later worker in the same seat has another one.
    package var epoch: Int64
    package var pid: Int32
    /// Field 22 of /proc/PID/stat: clock ticks since the boot; tells a reused pid from the worker's.
    package var startTime: Int64
    /// Of the machine when the worker started: /proc/sys/kernel/random/boot_id.
    package var bootID: String

    package init(seat: Int, epoch: Int64, pid: Int32, startTime: Int64, bootID: String) {
        self.seat = seat
        self.epoch = epoch
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
    }
}

/// The sessions of the shards that could be read.
package struct SessionReading: Sendable, Equatable {
    /// By seat, each once.
    package let sessions: [Session]
    /// Nil where a shard is unusable: a dead worker that was reaped in the others may have its session, and commands, there.
    package let complete: CompleteSessions?

    /// - Parameter isComplete: every shard was read.
    package init(_ found: some Sequence<Session>, isComplete: Bool) {
        var sessions: [Session] = []
        // After an interrupted reap some shards have the session and some have not.
        for session in found
        where !sessions.contains(where: { $0.seat == session.seat && $0.epoch == session.epoch }) {
            sessions.append(session)
        }
        self.sessions = sessions.sorted { ($0.seat, $0.epoch) < ($1.seat, $1.epoch) }
        complete = isComplete ? CompleteSessions(all: self.sessions) : nil
    }
}

/// The sessions of all shards: the proof that a worker without one has been reaped everywhere, so that what it left behind
/// may be deleted. Only a ``SessionReading`` makes one.
package struct CompleteSessions: Sendable, Equatable {
    package let all: [Session]

    fileprivate init(all: [Session]) { self.all = all }
}
