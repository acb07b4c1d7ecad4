package import Commands
internal import Host
package import Logging
package import Operations
package import Store
internal import Synchronization
package import Wire

/// A worker without a coordinator: it executes the commands that it is given, one at a time, on the path of every worker.
///
/// It has no lock of a seat and no sockets, so it serves stores that no other process uses. When the last reference goes, its
/// writes are committed, then its session and its threads end.
package final class LocalWorker: Sendable {
    private let executor: Executor
    private let committers: ExecutionCommitters
    private let store: any CommandStore
    private let session: Session
    private let offered = Mutex<Int64>(0)

    /// Operations may block their threads, which all local workers of the process share.
    private static let threads = OperationExecutor(maxThreads: 64)

    /// Opens a session.
    /// - Parameters:
    ///   - epoch: another one for each worker on the store.
    ///   - observer: hears of the steps of each execution.
    package init(
        store: any CommandStore, registry: OperationRegistry, epoch: Int64,
        observer: any ExecutionObserver, logger: Logger
    ) throws(StoreError) {
        let session = Session(seat: 0, epoch: epoch, pid: 0, startTime: 0, bootID: "")
        try store.open(session)
        let committers = ExecutionCommitters(of: store)
        let executor = Executor(
            registry: registry, committers: committers, concurrency: 1, logger: logger, intentLog: nil,
            references: PayloadReferences(store: store), operationExecutor: Self.threads, observer: observer,
            wakeReporter: {})
        committers.start(
            commit: { group, writes, attempt throws(StoreError) in
                try store.apply(writes, group: group, seat: session.seat, epoch: session.epoch, attempt)
            },
            deliver: { executor.committed($0, group: $1) })
        self.store = store
        self.session = session
        self.executor = executor
        self.committers = committers
    }

    deinit {
        executor.close()
        committers.close { [store, session] in
            // The rows of a session in memory end with the store; elsewhere a reap removes them.
            try? store.close(seat: session.seat, epoch: session.epoch)
        }
    }

    package func executes(_ type: String) -> Bool { executor.registry[type] != nil }

    /// Claims a ready command, executes it, and returns when its end is committed, or the command is in other hands.
    /// - Returns: the transitions, none where the command could not be claimed; and the effects on other commands.
    package func execute(_ command: ReadyCommand) async -> (reports: [StatusReport], effects: Effects) {
        let number = offered.withLock { count in
            count += 1
            return count
        }
        var offer = Offers.Offer(
            id: command.id, type: command.type, qos: command.qos, suspect: command.suspect,
            group: Offers.group(of: command.destination), order: number)
        offer.turn = command.turn
        executor.offered(Offers(first: number, offers: [offer]), coordinator: 1, now: .now)
        await withCheckedContinuation { continuation in executor.whenIdle { continuation.resume() } }
        let (_, reports, effects) = executor.takeReports()
        return (reports, effects)
    }

    /// Makes writes in the name of this worker, as an earlier execution has made them.
    package func apply(_ writes: [ExecutionWrite], shard: Int) throws(StoreError) -> CommitOutcome {
        try store.apply(
            { writes }, group: store.commitGroup(of: shard), seat: session.seat, epoch: session.epoch,
            CommitAttempt(timeout: WriteTimeout.foreground))
    }

    /// Stops the executions of the commands that have a cancellation request in the store.
    package func cancelRequested() throws(StoreError) {
        for shard in 0..<store.shardCount {
            for command in try store.cancellationRequests(shard: shard) {
                cancel(CommandClaim(id: command.id, claim: command.claim))
            }
        }
    }

    /// Stops an execution that has a cancellation request in the store.
    package func cancel(_ command: CommandClaim) {
        var control = ControlState()
        control.cancels = [command]
        executor.control(control)
    }

    /// Stops an execution and releases its command.
    /// - Parameter reason: a sentence.
    package func release(_ command: CommandClaim, reason: String) {
        var control = ControlState()
        control.stops = [ControlState.Stop(.release, command, reason: reason)]
        executor.control(control)
    }

    /// As ``release(_:reason:)``, for the executions whose destination is meant, except those whose commands would be in
    /// doubt.
    package func release(reason: String, where isMeant: (Destination) -> Bool) throws(StoreError) {
        for shard in 0..<store.shardCount {
            for claimed in try store.claimed(shard: shard) where isMeant(claimed.destination) {
                guard let command = try store.command(claimed.id) else { continue }
                // Nothing may have been sent, or it may be sent again.
                guard command.status == .queued || command.idempotent else { continue }
                release(CommandClaim(id: claimed.id, claim: claimed.claim), reason: reason)
            }
        }
    }

    /// Reaps this worker as one that has died: its commands are released or put in doubt, and the next writes of its
    /// executions find nothing. Then stops the executions.
    /// - Returns: the effects of the reap.
    package func die() throws(StoreError) -> Effects {
        var effects = Effects()
        let verdict = DeathVerdict(charges: true, reason: "its worker died")
        try store.reap(seat: session.seat, epoch: session.epoch, verdict) { effects.append($0) }
        executor.stopAll()
        return effects
    }
}
