internal import CLinux
internal import Commands
internal import Host
internal import Logging
internal import Store
internal import ZeroMQ

/// Death is proven, never guessed: a worker is dead when the lock of its seat is ours. Its process's end is the alarm clock.
extension Coordinator {
    func processEnded(seat: Int) {
        guard let connection = connections[seat] else { return }
        // The descriptor stays readable for ever.
        if let watch = connection.watch {
            loop.remove(watch)
            connection.watch = nil
        }
        connection.isEnding = true
        tryToReap(seat: seat)
    }

    /// Every 250 ms: seats that cannot be watched, or whose process has ended; and workers that hang, also such as have
    /// done so since before this coordinator began.
    func watchSeats() {
        for (seat, connection) in connections where connection.isEnding || connection.process == nil {
            tryToReap(seat: seat)
        }
        for record in dispatcher.seats.values where record.stillFor > configuration.hang.nanoseconds {
            guard let connection = connections[record.seat], !connection.isEnding else { continue }
            guard connection.process != nil else { continue }
            logger.error(
                "A worker has made no progress for \(configuration.hang.seconds) s and is killed.",
                metadata: ["seat": "\(record.seat)", "pid": "\(record.pid)"])
            connection.process?.end(hung: record.pid, runDirectory: runDirectory)
            connection.isEnding = true
        }
        for (session, isNew) in absences.overdue(configuration.hang.nanoseconds) {
            if let process = WatchedProcess(pid: session.pid, startTime: session.startTime, bootID: session.bootID) {
                if isNew {
                    logger.error(
                        "A worker from before this coordinator's start says nothing and is killed.",
                        metadata: ["seat": "\(session.seat)", "pid": "\(session.pid)"])
                }
                process.end(hung: session.pid, runDirectory: runDirectory)
            }
            tryToReap(seat: session.seat)
        }
    }

    private func tryToReap(seat: Int) {
        let lock: FileLock?
        do throws(StoreError) {
            lock = try runDirectory.take(.seat(seat))
        } catch {
            return report(error, "A seat's lock cannot be tried")
        }
        guard let lock else { return }
        absences.settled(seat: seat)
        let record = dispatcher.seats[seat]
        let offersToReturn = dispatcher.leave(seat: seat, now: Int64(clinux_monotonic()))
        forget(seat: seat)
        if let record { hub.worker(record, state: "lost", at: .now) }
        setNeedsControl()
        reap(offersToReturn: offersToReturn, lock: lock) { store throws(StoreError) in
            try store.sessions().filter { $0.seat == seat }
        }
    }

    var seating: SeatLocks { SeatLocks(runDirectory: runDirectory) }

    /// A newcomer sits in the seat: whoever sat there before it is dead.
    func reapOthers(seat: Int, but epoch: Int64, offersToReturn: [CommandID]) {
        reap(offersToReturn: offersToReturn, lock: nil) { [seating] store throws(StoreError) in
            try seating.dead(before: epoch, seat: seat, in: store)
        } whenFailed: {
            $0.unreaped[seat] = epoch
        }
    }

    /// Those who sit where a reap has failed sit there still, or the seat is tried like any other.
    func reapAgain() {
        let seats = unreaped
        unreaped = [:]
        for (seat, epoch) in seats where dispatcher.seats[seat]?.epoch == epoch {
            reapOthers(seat: seat, but: epoch, offersToReturn: [])
        }
    }

    /// A starting coordinator tries every seat: obtained, reap now; held, await the hello.
    func reapAtStart() {
        read { [runDirectory] store throws(StoreError) in
            let sessions = try StartedExecutions.removeStale(in: runDirectory) { () throws(StoreError) in
                try store.sessions()
            }
            try IntentionalKill.removeStale(in: runDirectory, sessions: sessions)
            return sessions
        } then: { coordinator, result in
            switch result {
            case .success(let sessions):
                let absent = sessions.filter { coordinator.dispatcher.seats[$0.seat] == nil }
                coordinator.absences.found(absent)
                for seat in Set(absent.map(\.seat)) { coordinator.tryToReap(seat: seat) }
                // A shard that was of no use when somebody was reaped has him still, beside who sits there now.
                for record in coordinator.dispatcher.seats.values
                where sessions.contains(where: { $0.seat == record.seat && $0.epoch != record.epoch }) {
                    coordinator.reapOthers(seat: record.seat, but: record.epoch, offersToReturn: [])
                }
            case .failure(let error): coordinator.report(error, "Sessions cannot be read")
            }
        }
    }

    private func reap(
        offersToReturn: [CommandID], lock: FileLock?,
        dead: @escaping @Sendable (any CommandStore) throws(StoreError) -> [Session],
        whenFailed: @escaping @Sendable (isolated Coordinator) -> Void = { _ in }
    ) {
        // What was offered and not claimed is ready as it was.
        lookUp(offersToReturn)
        write { [runDirectory, loop] store throws(StoreError) in
            // The lock is held until the commands are released.
            defer { withExtendedLifetime(lock) {} }
            for session in try dead(store) {
                let reboot = session.bootID != ProcessIdentity.bootID
                let seat = session.seat
                let epoch = session.epoch
                let isOrdered = IntentionalKill.isNoted(in: runDirectory, session)
                try store.reap(
                    seat: seat, epoch: epoch, charges: !reboot && !isOrdered,
                    started: reboot ? nil : StartedExecutions.read(in: runDirectory, seat: seat, epoch: epoch),
                    reason: reboot ? "the machine was restarted" : "its worker, process \(session.pid), died", now: .now
                ) { events, ready in
                    guard !events.isEmpty else { return }
                    // Those of the first shard need not wait for the last.
                    loop.perform { self.assumeIsolated { $0.released(events, ready) } }
                }
                StartedExecutions.remove(in: runDirectory, seat: seat, epoch: epoch)
                IntentionalKill.remove(in: runDirectory, session)
            }
        } then: { coordinator, result in
            // Where it failed, a session row is still there: the sweep tries again.
            if case .failure(let error) = result {
                whenFailed(coordinator)
                coordinator.report(error, "A dead worker cannot be reaped")
            }
        }
    }

    private func released(_ events: [StatusEvent], _ ready: [ReadyCommand]) {
        let now = Int64(clinux_monotonic())
        for event in events {
            cancels[event.transition.id] = nil
            publish(event, now: now)
        }
        logger.notice("Commands of a dead worker were released.", metadata: ["transitions": "\(events.count)"])
        dispatcher.insert(ready, now: now)
        setNeedsDispatch()
        setNeedsControl()
    }
}

extension WatchedProcess {
    /// Kills a worker that hangs. One that somebody has stopped is not what its commands did: its death counts for nobody.
    fileprivate func end(hung pid: Int32, runDirectory: RunDirectory) {
        if ProcessIdentity.isStopped(pid) { IntentionalKill.note(in: runDirectory, pid: pid) }
        kill()
    }
}
