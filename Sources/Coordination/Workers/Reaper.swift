internal import Commands
internal import Host
internal import Logging
internal import Membership
internal import Metrics
internal import Store
internal import Wire

/// Releases the commands of dead workers. Confined to the loop.
///
/// Death is proven, never guessed (``Presence/proveDeath(inSeat:)``). The end of the worker's process, or a look every
/// 250 ms where the process cannot be watched, only says when to try.
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
    private var presence: any Presence { environment.presence }

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

    /// Tries to reap in seats whose process has ended or cannot be watched, and kills workers that hang.
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
            connection.process?.killHung()
            hung.insert(record.epoch)
            connection.isEnding = true
        }
    }

    /// Kills workers that have hung since before this coordinator started, so that they said no hello to it.
    private func killUnresponsiveWorkers() {
        for (session, isNew) in unresponsive.overdue(environment.configuration.hang) {
            if let process = presence.watch(session) {
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
                process.killHung()
                hung.insert(session.epoch)
            }
            tryToReap(seat: session.seat)
        }
    }

    /// A frame of a worker cannot be read.
    func received(_ error: WireError, from sender: FrameHead) {
        // Any worker may have left a late frame; only the one that holds the seat counts.
        guard !presence.isTaken(seat: sender.seat, byOtherThan: sender.epoch), foreign.received(error, from: sender)
        else { return }
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
        let proof: DeathProof?
        do throws(StoreError) {
            proof = try presence.proveDeath(inSeat: seat)
        } catch {
            return environment.store.report(error, "A seat's lock cannot be tried")
        }
        guard let proof else { return }
        unresponsive.remove(seat: seat)
        let foreign = foreign
        self.foreign.remove(seat: seat)
        reap(offersToReturn: workers.workerLeft(seat: seat), proof: proof, foreign: foreign) {
            store throws(StoreError) in
            try store.sessions().filter { $0.seat == seat }
        }
    }

    private func reapPredecessors(seat: Int, epoch: Int64, offersToReturn: [CommandID]) {
        reap(offersToReturn: offersToReturn, proof: nil, foreign: foreign) { [presence] store throws(StoreError) in
            try presence.predecessors(of: epoch, inSeat: seat) { () throws(StoreError) in try store.sessions() }
        } whenFailed: { [self] in
            unreaped[seat] = epoch
        }
    }

    // MARK: Each sweep

    /// Tries every seat that has a session: where its worker is dead, reap; where it may live, await the hello.
    func reapSessions() {
        environment.store.read("Sessions cannot be read") { [presence] store throws(StoreError) in
            try presence.removeStaleNotes { () throws(StoreError) in try store.sessionReading() }.sessions
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
        offersToReturn: [CommandID], proof: DeathProof?, foreign: ForeignWorkers,
        dead: @escaping @Sendable (any CommandStore) throws(StoreError) -> [Session],
        whenFailed: @escaping () -> Void = {}
    ) {
        // A command that was offered and not claimed is ready as it was.
        dispatch.lookUp(offersToReturn)
        // Where it fails, a session row is still there: the sweep tries again.
        environment.store.write("A dead worker cannot be reaped") {
            [presence, hung] (store, step: (Effects) -> Void) throws(StoreError) in
            // The proof is held until the commands are released.
            defer { withExtendedLifetime(proof) {} }
            for session in try dead(store) {
                let isForeign = foreign.contains(seat: session.seat, epoch: session.epoch)
                let report = presence.deathReport(on: session)
                try Self.reap(session, report, charges: !isForeign, in: store, step)
                WorkerDeath.count(
                    isForeign ? .foreign : hung.contains(session.epoch) ? .hung : WorkerDeath(report.cause))
            }
        } each: { [self] released in
            takeIn(released)
        } otherwise: { _ in
            whenFailed()
        }
    }

    /// On the store's thread.
    private static func reap(
        _ session: Session, _ report: DeathReport, charges: Bool, in store: any CommandStore, _ step: (Effects) -> Void
    ) throws(StoreError) {
        let verdict = DeathVerdict(
            charges: charges && report.cause == .crash, started: report.started,
            reason: report.cause == .reboot
                ? "the machine was restarted" : "its worker, process \(session.pid), died")
        try store.reap(seat: session.seat, epoch: session.epoch, verdict) { effects in
            // Commands of the first shard need not wait for the last shard.
            if !effects.isEmpty { step(effects) }
        }
        // Its notes stay for a shard that is unusable now; the sweep deletes them (``Presence/removeStaleNotes(_:)``).
    }

    private func takeIn(_ released: Effects) {
        logger.notice(
            "Commands of a dead worker were released.", metadata: ["transitions": "\(released.events.count)"])
        effects.receive(released)
    }
}

/// Why a worker died. The raw values are labels of a metric.
enum WorkerDeath: String, CaseIterable, Sendable {
    /// Its process ended before it had drained.
    case crash
    /// The coordinator killed it, because its loop made no progress.
    case hung
    /// A person had stopped or killed it.
    case intended
    /// The machine was restarted.
    case reboot
    /// It speaks another version of the protocol.
    case foreign

    init(_ cause: DeathReport.Cause) {
        self =
            switch cause {
            case .crash: .crash
            case .intended: .intended
            case .reboot: .reboot
            }
    }

    static func count(_ cause: WorkerDeath) { counter(cause).increment() }

    /// Makes the series of all causes: a rate sees the first death only after a series with 0.
    static func makeCounters() { for cause in allCases { _ = counter(cause) } }

    private static func counter(_ cause: WorkerDeath) -> Counter {
        Counter(label: "sluice.worker.deaths", dimensions: [("cause", cause.rawValue)])
    }
}
