internal import CLinux
internal import Commands
internal import Logging
internal import Store
internal import Wire

/// What the coordinator does by the clock: the sweep, due times, settings, gaps in events, snapshots.
extension Coordinator {
    /// The backstop behind every hint: what no message told is found here.
    func sweep() {
        sweepReady()
        loadWishes()
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

    /// Looks which destinations have ready work, and lets the queue read on.
    /// - Parameter shards: nil for all.
    func sweepReady(_ shards: Set<Int>? = nil) {
        for shard in shards ?? Set(0..<store.shardCount) {
            read { store throws(StoreError) in
                try store.readyKeys(shard: shard)
            } then: { coordinator, result in
                switch result {
                case .success(let keys):
                    coordinator.dispatcher.found(keys, shard: shard, now: Int64(clinux_monotonic()))
                    if !keys.isEmpty { coordinator.setNeedsDispatch() }
                case .failure(let error): coordinator.report(error, "Ready commands cannot be looked for")
                }
            }
        }
    }

    /// A backoff is elapsed time: where the wall clock jumps, its end in the store is moved along.
    func followWallClock(now: Int64) {
        let before = wallClock.offset
        let jump = wallClock.jump(wall: .now, monotonic: now)
        if let offset = wallClock.offset, jump != nil || before == nil { ClockNote.write(offset, in: runDirectory) }
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
            if !error.code.spoilsShard { coordinator.owedShifts[shard, default: []].append(jump) }
        }
    }

    /// Makes due what waited, and cancels what its deadline has passed.
    func settleTimes() {
        let shards = (0..<store.shardCount).filter { !dispatcher.locked.contains($0) }
        guard !timesAreSettling, let last = shards.last else { return }
        timesAreSettling = true
        for shard in shards {
            write { store throws(StoreError) -> (Int64?, Expiry) in
                let now = Timestamp.now
                let due = try store.promoteDue(shard: shard, now: now, limit: 1000)
                return (due.oldest, try store.expire(shard: shard, now: now, limit: 1000))
            } then: { coordinator, result in
                if shard == last { coordinator.timesAreSettling = false }
                switch result {
                case .success(let (due, expiry)): coordinator.settled(due, expiry, shard: shard)
                case .failure(let error): coordinator.report(error, "Due times cannot be settled")
                }
            }
        }
    }

    /// - Parameter due: the first turn of what has become due.
    private func settled(_ due: Int64?, _ expiry: Expiry, shard: Int) {
        let now = Int64(clinux_monotonic())
        for event in expiry.cancelled { publish(event, now: now) }
        for row in expiry.mustBeTold { cancels[row.id] = row.claim }
        if !expiry.mustBeTold.isEmpty { setNeedsControl() }
        guard let due else { return }
        read { store throws(StoreError) in
            try store.readyKeys(shard: shard)
        } then: { coordinator, result in
            if case .success(let keys) = result {
                let now = Int64(clinux_monotonic())
                coordinator.dispatcher.found(keys, shard: shard, due: due, now: now)
                coordinator.setNeedsDispatch()
            }
        }
    }

    /// Who must be told that its command is to be cancelled.
    func loadWishes() {
        for shard in 0..<store.shardCount {
            read { store throws(StoreError) in
                try store.wishes(shard: shard)
            } then: { coordinator, result in
                switch result {
                case .success(let rows):
                    let wished = Dictionary(rows.map { ($0.id, $0.claim) }, uniquingKeysWith: max)
                    let before = coordinator.cancels
                    let count = coordinator.store.shardCount
                    coordinator.cancels = before.filter { $0.key.shard(of: count) != shard }
                        .merging(wished, uniquingKeysWith: max)
                    if coordinator.cancels != before { coordinator.setNeedsControl() }
                case .failure(let error): coordinator.report(error, "Wishes cannot be read")
                }
            }
        }
    }

    func loadPauses() {
        read { store throws(StoreError) in
            try store.settings(prefix: Pauses.prefix)
        } then: { coordinator, result in
            switch result {
            case .success(let settings):
                let before = coordinator.dispatcher.pauses
                coordinator.dispatcher.pause(Pauses.parse(settings))
                guard coordinator.dispatcher.pauses != before else { return }
                coordinator.setNeedsControl()
                coordinator.sweepReady()
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
                try store.ofEachShard(or: []) { shard throws(StoreError) in try store.claimed(shard: shard) },
                try store.ofEachShard(or: 0) { shard throws(StoreError) in
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

extension ClaimedRow {
    /// As an event of a snapshot; its number in the shard is not known any more, and is 0.
    fileprivate func event(shard: Int) -> StatusEvent {
        StatusEvent(
            transition: Transition(
                seq: 0, id: id, status: status, at: updatedAt, seat: seat, claim: claim, reason: nil),
            type: type, qos: qos, destination: destination, retries: retries, shard: shard)
    }
}
