internal import Commands
internal import Host
internal import Logging
internal import Metrics
internal import Store
internal import Wire

/// Releases the commands of dead workers. Confined to the loop.
///
/// Death is proven, never guessed: a worker is dead when this process obtains the lock of its seat. The end
/// of the worker's process, or a look every 250 ms where the process cannot be watched, only says when to try
/// the lock.
final class Reaper {
    private let environment: CoordinatorEnvironment
    private let workers: WorkerRegistry
    private let dispatch: DispatchRunner
    private let effects: EffectsReceiver
    private var unresponsive = UnresponsiveWorkers()
    private var foreign = ForeignWorkers()
    /// Seats whose former workers could not be reaped while another had joined there already, and the epoch
    /// of that one.
    private var unreaped: [Int: Int64] = [:]
    /// Epochs of workers that were killed because they hung, and are not reaped yet.
    private var hung: Set<Int64> = []
    /// Registered workers whose control group is frozen: they run nothing, and do not hang.
    private var frozen: [(seat: Int, epoch: Int64, pid: Int32)] = []

    private var logger: Logger { environment.logger }
    private var runDirectory: RunDirectory { environment.runDirectory }

    init(
        _ environment: CoordinatorEnvironment, workers: WorkerRegistry, dispatch: DispatchRunner,
        effects: EffectsReceiver
    ) {
        self.environment = environment
        self.workers = workers
        self.dispatch = dispatch
        self.effects = effects
    }

    // MARK: Every 250 ms

    /// Tries the locks of seats whose process has ended or cannot be watched, and kills workers that hang.
    /// - Parameter awake: the coordinator's own waking time since the last call.
    func run(awake: Duration) {
        unresponsive.advance(awake: awake)
        for (seat, connection) in workers.connections where connection.isEnding || connection.process == nil {
            tryToReap(seat: seat)
        }
        thawWorkers()
        killHungWorkers()
        killUnresponsiveWorkers()
    }

    private func thawWorkers() {
        for (seat, epoch, pid) in frozen where !ControlGroups(of: pid).isFrozen {
            frozen.removeAll { $0.epoch == epoch }
            guard dispatch.dispatcher.seats[seat]?.epoch == epoch else { continue }
            logger.notice("A worker is thawed and goes on.", metadata: ["seat": "\(seat)", "pid": "\(pid)"])
            dispatch.setFrozen(false, seat: seat)
        }
    }

    private func logFrozen(seat: Int, pid: Int32) {
        logger.warning(
            "A worker’s control group is frozen (docker pause). It is not killed, and goes on when it is thawed.",
            metadata: ["seat": "\(seat)", "pid": "\(pid)"])
    }

    private func killHungWorkers() {
        let hang = environment.configuration.hang
        for record in dispatch.dispatcher.seats.values where record.stillFor > hang {
            guard let connection = workers.connections[record.seat], !connection.isEnding, connection.process != nil,
                !foreign.contains(seat: record.seat, epoch: record.epoch)
            else { continue }
            if ControlGroups(of: record.pid).isFrozen {
                logFrozen(seat: record.seat, pid: record.pid)
                frozen.append((record.seat, record.epoch, record.pid))
                dispatch.setFrozen(true, seat: record.seat)
                continue
            }
            logger.error(
                "A worker has made no progress for \(hang.seconds) s and is killed.",
                metadata: ["seat": "\(record.seat)", "pid": "\(record.pid)"])
            connection.process?.killHung(pid: record.pid, in: runDirectory)
            hung.insert(record.epoch)
            connection.isEnding = true
        }
    }

    /// Kills workers that have hung since before this coordinator started, so that they said no hello to it.
    private func killUnresponsiveWorkers() {
        for (session, isNew) in unresponsive.overdue(environment.configuration.hang) {
            if let process = WatchedProcess(pid: session.pid, startTime: session.startTime, bootID: session.bootID) {
                if ControlGroups(of: session.pid).isFrozen {
                    if isNew { logFrozen(seat: session.seat, pid: session.pid) }
                    unresponsive.excuse(epoch: session.epoch)
                    continue
                }
                if isNew {
                    logger.error(
                        "A worker from before this coordinator's start says nothing and is killed.",
                        metadata: ["seat": "\(session.seat)", "pid": "\(session.pid)"])
                }
                process.killHung(pid: session.pid, in: runDirectory)
                hung.insert(session.epoch)
            }
            tryToReap(seat: session.seat)
        }
    }

    /// A frame of a worker cannot be read.
    func received(_ error: WireError, from sender: FrameHead) {
        // Any worker may have left a late frame; only the one that holds the seat counts.
        guard !workers.seatLocks.isTaken(sender.seat, from: sender.epoch), foreign.received(error, from: sender) else {
            return
        }
        unresponsive.remove(seat: sender.seat)
        logger.warning(
            """
            A worker speaks another version of the protocol: \(error). It is left alone, and its commands are released \
            when it has ended; end it, and start it with this release.
            """, metadata: ["seat": "\(sender.seat)"])
    }

    // MARK: One seat

    /// A worker joined: it is not unresponsive, and the sessions of others in its seat are of dead workers.
    func workerJoined(seat: Int, epoch: Int64, offersToReturn: [CommandID]) {
        unresponsive.remove(seat: seat)
        reapPredecessors(seat: seat, epoch: epoch, offersToReturn: offersToReturn)
    }

    func tryToReap(seat: Int) {
        let lock: FileLock?
        do throws(StoreError) {
            lock = try runDirectory.take(.seat(seat))
        } catch {
            return environment.store.report(error, "A seat's lock cannot be tried")
        }
        guard let lock else { return }
        unresponsive.remove(seat: seat)
        let foreign = foreign
        self.foreign.remove(seat: seat)
        reap(offersToReturn: workers.workerLeft(seat: seat), lock: lock, foreign: foreign) { store throws(StoreError) in
            try store.sessions().filter { $0.seat == seat }
        }
    }

    private func reapPredecessors(seat: Int, epoch: Int64, offersToReturn: [CommandID]) {
        reap(offersToReturn: offersToReturn, lock: nil, foreign: foreign) {
            [seatLocks = workers.seatLocks] store throws(StoreError) in
            try seatLocks.dead(before: epoch, seat: seat, in: store)
        } whenFailed: { [self] in
            unreaped[seat] = epoch
        }
    }

    // MARK: Each sweep

    /// Tries every seat that has a session: where the lock is obtained, reap; where it is held, await the
    /// hello.
    func reapSessions() {
        environment.store.read("Sessions cannot be read") { [runDirectory] store throws(StoreError) in
            let notes = try WorkerNotes(in: runDirectory)
            let reading = try store.sessionReading()
            if let complete = reading.complete { notes.removeStale(complete) }
            return reading.sessions
        } then: { [self] sessions in
            let seats = dispatch.dispatcher.seats
            let absent = sessions.filter { seats[$0.seat] == nil }
            hung.formIntersection(sessions.map(\.epoch))
            unresponsive.replace(with: absent.filter { !foreign.contains(seat: $0.seat, epoch: $0.epoch) })
            for seat in Set(absent.map(\.seat)) { tryToReap(seat: seat) }
            // A shard that was unavailable during a reap still has the dead worker's session: reap it again.
            for record in dispatch.dispatcher.seats.values
            where sessions.contains(where: { $0.seat == record.seat && $0.epoch != record.epoch }) {
                reapPredecessors(seat: record.seat, epoch: record.epoch, offersToReturn: [])
            }
        }
    }

    /// Tries again where a reap has failed and the same worker still sits in the seat. Other seats are tried
    /// by ``reapSessions()``.
    func retryFailedReaps() {
        let seats = unreaped
        unreaped = [:]
        for (seat, epoch) in seats where dispatch.dispatcher.seats[seat]?.epoch == epoch {
            reapPredecessors(seat: seat, epoch: epoch, offersToReturn: [])
        }
    }

    // MARK: Reaping

    private func reap(
        offersToReturn: [CommandID], lock: FileLock?, foreign: ForeignWorkers,
        dead: @escaping @Sendable (any CommandStore) throws(StoreError) -> [Session],
        whenFailed: @escaping () -> Void = {}
    ) {
        // A command that was offered and not claimed is ready as it was.
        dispatch.lookUp(offersToReturn)
        // Where it fails, a session row is still there: the sweep tries again.
        environment.store.write("A dead worker cannot be reaped") {
            [runDirectory, hung] (store, step: (Effects) -> Void) throws(StoreError) in
            // The lock is held until the commands are released.
            defer { withExtendedLifetime(lock) {} }
            for session in try dead(store) {
                let isForeign = foreign.contains(seat: session.seat, epoch: session.epoch)
                let cause = try Self.reap(session, charges: !isForeign, in: store, runDirectory: runDirectory, step)
                WorkerDeath.count(isForeign ? .foreign : hung.contains(session.epoch) ? .hung : cause)
            }
        } each: { [self] released in
            takeIn(released)
        } otherwise: { _ in
            whenFailed()
        }
    }

    /// On the store's thread.
    /// - Returns: why the worker died, as far as its session says.
    private static func reap(
        _ session: Session, charges: Bool, in store: any CommandStore, runDirectory: RunDirectory,
        _ step: (Effects) -> Void
    ) throws(StoreError) -> WorkerDeath {
        let isOfAnotherBoot = session.bootID != ProcessIdentity.bootID
        let (seat, epoch) = (session.seat, session.epoch)
        let isIntended = IntentionalKill.isNoted(in: runDirectory, session)
        try store.reap(
            seat: seat, epoch: epoch, charges: charges && !isOfAnotherBoot && !isIntended,
            started: isOfAnotherBoot ? nil : StartedExecutions.read(in: runDirectory, seat: seat, epoch: epoch),
            reason: isOfAnotherBoot ? "the machine was restarted" : "its worker, process \(session.pid), died",
            now: .now
        ) { effects in
            // Commands of the first shard need not wait for the last shard.
            if !effects.isEmpty { step(effects) }
        }
        // Its files stay for a shard that is unusable now; the sweep deletes them (``WorkerNotes``).
        return isOfAnotherBoot ? .reboot : isIntended ? .intended : .crash
    }

    private func takeIn(_ released: Effects) {
        logger.notice(
            "Commands of a dead worker were released.", metadata: ["transitions": "\(released.events.count)"])
        effects.receive(released)
    }
}

extension WatchedProcess {
    /// Kills a worker that hangs. Where a person has stopped the process, its commands did not cause that, so
    /// its death is noted as intended and counts against none of them.
    fileprivate func killHung(pid: Int32, in run: RunDirectory) {
        if ProcessIdentity.isStopped(pid) { IntentionalKill.note(in: run, pid: pid) }
        kill()
    }
}
