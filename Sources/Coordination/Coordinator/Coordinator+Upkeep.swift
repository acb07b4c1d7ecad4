internal import CLinux
internal import Commands
internal import Logging
internal import Store
internal import Wire
internal import ZeroMQ

/// What the coordinator does by the clock: the sweep, due times, settings, gaps in events, snapshots.
extension Coordinator {
    /// The backstop behind every hint: what no message told is found here.
    func sweep() {
        sweepReady()
        loadCancellationRequests()
        loadPauses()
        loadOverrides()
        reapAtStart()
        reapAgain()
        recordTypes(unrecorded)
        for shard in 0..<store.shardCount where dispatcher.willReconcile(shard: shard) {
            read { store throws(StoreError) in
                try store.claimed(shard: shard)
            } then: { coordinator, result in
                switch result {
                case .success(let rows):
                    let now = Int64(clinux_monotonic())
                    coordinator.lookUp(coordinator.dispatcher.reconcile(rows, shard: shard, now: now))
                case .failure(let error):
                    coordinator.dispatcher.reconcileFailed(shard: shard)
                    coordinator.report(error, "Claimed commands cannot be read")
                }
            }
        }
        countWaiting()
        giveUpUnreachable()
    }

    /// Looks for ready commands that no hint told of.
    /// - Parameter shards: nil for all.
    func sweepReady(_ shards: Set<Int>? = nil) {
        let now = Int64(clinux_monotonic())
        for shard in shards ?? Set(0..<store.shardCount) {
            guard sweeping[shard] == nil else {
                // What is read at this moment may be of the time before.
                sweeping[shard] = true
                continue
            }
            sweeping[shard] = false
            switch sweepPlan.way(of: shard, hasBarren: dispatcher.backlog.hasBarren(in: shard), now: now) {
            case .keys: sweepKeys(shard)
            case .changes(let after): sweepChanges(shard, after: after)
            }
        }
    }

    private func sweepKeys(_ shard: Int) {
        read { store throws(StoreError) in
            let newest = try store.transitionRange(shard: shard)?.upperBound ?? 0
            return (newest, try store.readyKeys(shard: shard))
        } then: { coordinator, result in
            coordinator.swept(shard)
            switch result {
            case .success(let (newest, keys)):
                let now = Int64(clinux_monotonic())
                coordinator.sweepPlan.readKeys(keys.count, of: shard, newest: newest, now: now)
                coordinator.dispatcher.found(keys, shard: shard, now: now)
                if !keys.isEmpty { coordinator.setNeedsDispatch() }
            case .failure(let error): coordinator.report(error, "Ready commands cannot be looked for")
            }
        }
    }

    private func sweepChanges(_ shard: Int, after: Int64) {
        read { store throws(StoreError) -> (Int64, [ReadyCommand])? in
            let newest = try store.transitionRange(shard: shard)?.upperBound ?? 0
            guard newest > after else { return (after, []) }
            guard newest - after <= Int64(SweepPlan.maxChanges) else { return nil }
            let events = try store.events(shard: shard, after: after, limit: SweepPlan.maxChanges)
            let ids = Set(events.map(\.transition).filter { $0.status == .new || $0.status == .error }.map(\.id))
            return (newest, try store.ready(shard: shard, ids: Array(ids)))
        } then: { coordinator, result in
            if case .success(nil) = result { return coordinator.sweepKeys(shard) }
            coordinator.swept(shard)
            switch result {
            case .success(let (newest, commands)?):
                coordinator.sweepPlan.readChanges(of: shard, through: newest)
                coordinator.dispatcher.insert(commands, now: Int64(clinux_monotonic()))
                if !commands.isEmpty { coordinator.setNeedsDispatch() }
            case .success(nil): break
            case .failure(let error): coordinator.report(error, "Ready commands cannot be looked for")
            }
        }
    }

    private func swept(_ shard: Int) {
        if sweeping.removeValue(forKey: shard) == true {
            loop.perform { self.assumeIsolated { $0.sweepReady([shard]) } }
        }
    }

    /// A backoff is elapsed time: where the wall clock jumps, its end in the store is moved along.
    func followWallClock(now: Int64) {
        let before = wallClock.offset
        let jump = wallClock.jump(wall: .now, monotonic: now)
        if let offset = wallClock.offset, jump != nil || before == nil { ClockRecord.write(offset, in: runDirectory) }
        if let jump {
            logger.warning("The wall clock jumped by \(jump.by.seconds) s; backoffs are moved along.")
            for shard in 0..<store.shardCount { owedShifts[shard, default: []].append(jump) }
            linkLog.wallClockJumped(by: jump.by, to: .now)
        }
        // One that another process keeps locked has its turn when it is free.
        for (shard, jumps) in owedShifts where !dispatcher.locked.contains(shard) {
            owedShifts[shard] = nil
            for jump in jumps { shiftBackoffs(shard: shard, jump) }
        }
    }

    private func shiftBackoffs(shard: Int, _ jump: WallClock.Jump) {
        write { store throws(StoreError) in
            try store.shiftBackoffs(shard: shard, by: jump.by, writtenBefore: jump.writtenBefore)
        } then: { coordinator, result in
            guard case .failure(let error) = result else { return }
            coordinator.report(error, "Backoffs cannot be moved")
            // Jumps add up, each for the rows of its own bound: one that failed may follow a later one.
            if !error.code.makesShardUnusable { coordinator.owedShifts[shard, default: []].append(jump) }
        }
    }

    /// Makes due what waited, and cancels what its deadline has passed.
    func settleTimes() {
        let shards = (0..<store.shardCount).filter { !dispatcher.locked.contains($0) }
        guard !timesAreSettling, let last = shards.last else { return }
        timesAreSettling = true
        for shard in shards {
            write { store throws(StoreError) -> ([ReadyCommand], Expiry) in
                let now = Timestamp.now
                let due = try store.promoteDue(shard: shard, now: now, limit: 1000)
                return (due.ready, try store.expire(shard: shard, now: now, limit: 1000))
            } then: { coordinator, result in
                if shard == last { coordinator.timesAreSettling = false }
                switch result {
                case .success(let (due, expiry)): coordinator.settled(due, expiry)
                case .failure(let error): coordinator.report(error, "Due times cannot be settled")
                }
            }
        }
    }

    private func settled(_ due: [ReadyCommand], _ expiry: Expiry) {
        let now = Int64(clinux_monotonic())
        for event in expiry.cancelled { publish(event, now: now) }
        for row in expiry.ownersToNotify { cancels[row.id] = row.claim }
        if !expiry.ownersToNotify.isEmpty { setNeedsControl() }
        guard !due.isEmpty else { return }
        dispatcher.insert(due, now: now)
        setNeedsDispatch()
    }

    /// Who must be told that its command is to be cancelled.
    func loadCancellationRequests() {
        for shard in 0..<store.shardCount {
            read { store throws(StoreError) in
                try store.cancellationRequests(shard: shard)
            } then: { coordinator, result in
                switch result {
                case .success(let rows):
                    let requested = Dictionary(rows.map { ($0.id, $0.claim) }, uniquingKeysWith: max)
                    let before = coordinator.cancels
                    let count = coordinator.store.shardCount
                    coordinator.cancels = before.filter { $0.key.shard(of: count) != shard }
                        .merging(requested, uniquingKeysWith: max)
                    if coordinator.cancels != before { coordinator.setNeedsControl() }
                case .failure(let error): coordinator.report(error, "Wishes cannot be read")
                }
            }
        }
    }

    func loadPauses() {
        read { store throws(StoreError) in
            try store.settings(prefix: SettingKey.pausePrefix)
        } then: { coordinator, result in
            switch result {
            case .success(let settings):
                let before = coordinator.dispatcher.pauses
                coordinator.dispatcher.pause(Pauses.parse(settings))
                guard coordinator.dispatcher.pauses != before else { return }
                coordinator.setNeedsControl()
                coordinator.setNeedsDispatch()
            case .failure(let error): coordinator.report(error, "Pauses cannot be read")
            }
        }
    }

    // MARK: Events

    /// Reads from the store what nobody has reported: gaps, and what producers and people wrote.
    func readGaps(now: Int64) {
        guard hub.wantsStatuses else {
            dirtyShards = []
            return
        }
        for (shard, after) in sequencer.reads(now: now, dirty: dirtyShards) {
            dirtyShards.remove(shard)
            read { store throws(StoreError) in
                try store.events(shard: shard, after: after, limit: 1000)
            } then: { coordinator, result in
                let now = Int64(clinux_monotonic())
                switch result {
                case .success(let events):
                    let gap = coordinator.sequencer.fill(shard: shard, after: after, events: events, now: now) {
                        coordinator.hub.status($0)
                    }
                    if let gap { coordinator.hub.gap(shard: shard, gap) }
                    if events.count == 1000 { coordinator.dirtyShards.insert(shard) }
                case .failure(let error):
                    coordinator.sequencer.readFailed(shard: shard, now: now)
                    coordinator.report(error, "Transitions cannot be read")
                }
            }
        }
    }

    func publishCounts() {
        // What producers wrote without a hint is found once a second.
        if hub.wantsStatuses { dirtyShards.formUnion(0..<store.shardCount) }
        guard hub.wantsCounts else { return }
        read { store throws(StoreError) in
            try store.counts()
        } then: { coordinator, result in
            if case .success(let counts) = result { coordinator.hub.counts(counts, at: .now) }
        }
    }

    /// What a new subscriber is told first. - Parameter restarts: nobody had subscribed to statuses before.
    func snapshot(restarts: Bool) {
        let at = Timestamp.now
        for record in dispatcher.seats.values.sorted(by: { $0.seat < $1.seat }) {
            hub.worker(record, state: record.phaseName, at: at, snapshot: true)
        }
        for report in linkReports(withHistory: true) { hub.link(report, at: at, snapshot: true) }
        for (seat, links) in lastTransfers {
            for link in links.values { hub.bandwidth(link, worker: seat, at: at) }
        }
        read { store throws(StoreError) in
            (
                try store.counts(),
                try store.mapShards(or: []) { shard throws(StoreError) in try store.claimed(shard: shard) },
                try store.mapShards(or: 0) { shard throws(StoreError) in
                    try store.transitionRange(shard: shard)?.upperBound ?? 0
                }
            )
        } then: { coordinator, result in
            switch result {
            case .success(let (counts, claimed, newest)):
                coordinator.hub.counts(counts, at: .now, snapshot: true)
                for (shard, rows) in claimed.enumerated() {
                    for row in rows { coordinator.hub.status(row.event(shard: shard), snapshot: true) }
                }
                if restarts { coordinator.sequencer = EventSequencer(newest: newest) }
            case .failure(let error): coordinator.report(error, "A snapshot cannot be read")
            }
        }
    }
}

extension ClaimedCommand {
    /// As an event of a snapshot; its number in the shard is not known any more, and is 0.
    fileprivate func event(shard: Int) -> StatusEvent {
        var transition = Transition(seq: 0, id: id, status: status, at: updatedAt, claim: claim)
        transition.seat = seat
        return StatusEvent(
            transition: transition, type: type, qos: qos, destination: destination, retries: retries, shard: shard)
    }
}
