package import Commands

extension MemoryStore {
    package func ready(
        shard: Int, key: ReadyKey, afterTurn: Int64, limit: Int
    ) throws(StoreError) -> [ReadyCommand] {
        try withShard(shard) { $0.ready(key, after: afterTurn, limit: limit) }
    }

    package func limitedKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> {
        try withShard(shard) { $0.readyKeys.filter { $0.limit != nil } }
    }

    package func readyCounts(shard: Int) throws(StoreError) -> [String: Int] {
        try withShard(shard) { $0.readyCounts }
    }

    package func readyKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> { try withShard(shard) { $0.readyKeys } }

    package func waitingQueues(
        of destinations: [Destination], shard: Int
    ) throws(StoreError) -> [WaitingQueue.Name: WaitingQueue] {
        try withShard(shard) { shard in
            let limits = Set(shard.readyKeys.compactMap(\.limit)).sorted().prefix(WaitingQueue.maxLimits)
            let names = WaitingQueue.names(Array(limits), destinations)
            var queues: [WaitingQueue.Name: WaitingQueue] = [:]
            for name in names {
                let commands = shard.waiting(name)
                let max = WaitingQueue.maxCounted
                guard let first = commands.first else { continue }
                queues[name] = WaitingQueue(
                    count: min(commands.count, max), isComplete: commands.count <= max, first: first)
            }
            return queues
        }
    }

    package func ready(shard: Int, ids: [CommandID]) throws(StoreError) -> [ReadyCommand] {
        try withShard(shard) { shard in ids.compactMap { shard.rows[$0] }.filter(\.isReady).map(\.ready) }
    }

    package func takeReadyAgain(shard: Int, limit: Int) throws(StoreError) -> [ReadyCommand] {
        try withShard(shard) { $0.takeReadyAgain(limit: max(limit, 0)) }
    }

    package func hasReadyAgain(shard: Int) throws(StoreError) -> Bool { try withShard(shard) { $0.hasReadyAgain } }

    package func promoteDue(shard: Int, limit: Int) throws(StoreError) -> PromotedCommands {
        let now = clock.now()
        return try withShard(shard) { shard in
            let due = shard.heldBackRows.prefix { $0.command.notBefore <= now }.prefix(max(limit, 0))
            for row in due {
                _ = shard.change(row.id) { row, _ in row.command.notBefore = .zero }
                shard.forgetReadyAgain(row.id)
            }
            let ready = due.compactMap { shard.rows[$0.id] }.filter(\.isReady).map(\.ready)
            return (ready, shard.heldBackRows.first?.command.notBefore)
        }
    }

    package func countHeldBack(shard: Int, type: String, destination: Destination) throws(StoreError) -> Int {
        try withShard(shard) { $0.heldBack(type, destination).count }
    }

    package func endWaits(
        shard: Int, type: String, destination: Destination, after: HeldBackPosition?, limit: Int
    ) throws(StoreError) -> (count: Int, next: HeldBackPosition?) {
        try withShard(shard) { shard in
            let rows = shard.heldBackRows.map { row in
                (row, position: HeldBackPosition(notBefore: row.command.notBefore, turn: row.command.turn))
            }.sorted { $0.position.precedes($1.position) }
            let looked = rows.drop { row in after.map { !$0.precedes(row.position) } ?? false }.prefix(max(limit, 0))
            let waiting = Set(shard.heldBack(type, destination).map(\.id))
            var count = 0
            for (row, _) in looked where waiting.contains(row.id) {
                _ = shard.change(row.id) { row, _ in row.command.notBefore = Timestamp(milliseconds: 1) }
                count += 1
            }
            return (count, looked.count < limit ? nil : looked.last?.position)
        }
    }

    package func shiftBackoffs(shard: Int, by jump: Duration, writtenBefore: Timestamp?) throws(StoreError) {
        try withShard(shard) { shard in
            // A time of day that a producer named is not shifted.
            for row in shard.heldBackRows
            where row.command.status == .error || row.command.status == .new && row.command.claim > 0 {
                if let writtenBefore, row.command.updatedAt >= writtenBefore { continue }
                _ = shard.change(row.id) { row, _ in
                    let moved = max(row.command.notBefore.milliseconds + jump.milliseconds, 1)
                    row.command.notBefore = Timestamp(milliseconds: moved)
                }
            }
        }
    }

    package func clampWaits(shard: Int) throws(StoreError) {
        let now = clock.now()
        try withShard(shard) { shard in
            for row in shard.heldBackRows
            where row.command.status == .error || row.command.status == .new && row.command.claim > 0 {
                let (end, written) = (row.command.notBefore, row.command.updatedAt)
                guard end > now, written > now || end > now + RetryPolicy.longestWait else { continue }
                let isMeant = written > now && (Duration.zero...RetryPolicy.longestWait).contains(end - written)
                let wait = isMeant ? end - written : RetryPolicy().maxDelay
                _ = shard.change(row.id) { row, _ in row.command.notBefore = min(end, now + wait) }
            }
        }
    }

    package func lastTurn(shard: Int, outside times: Range<Timestamp>) throws(StoreError) -> Int64 {
        try withShard(shard) { shard in
            shard.rows.values.filter { !times.contains($0.command.createdAt) }.map(\.command.turn).max() ?? 0
        }
    }

    package func passedDeadlines(shard: Int, limit: Int) throws(StoreError) -> Set<ReadyKey> {
        let now = clock.now()
        return try withShard(shard) { shard in
            guard !shard.isClockHeld else { return [] }
            let passed = shard.withDeadline.prefix { $0.openDeadline.map { $0 <= now } ?? false }
            return Set(passed.prefix(max(limit, 0)).map(ReadyKey.init))
        }
    }

    package func expire(shard: Int, limit: Int, causes: [ReadyKey: String]) throws(StoreError) -> Expiry {
        let now = clock.now()
        return try withShard(shard) { shard in
            if shard.isClockHeld { return Expiry(next: shard.withDeadline.first?.openDeadline) }
            var effects = Effects()
            for row in shard.withDeadline.prefix(while: { $0.openDeadline.map { $0 <= now } ?? false }).prefix(
                max(limit, 0))
            {
                let number = shard.number
                _ = shard.change(row.id) { row, changes in
                    switch row.cancel(
                        reason: row.deadlinePassed(because: causes[ReadyKey(row)]), now: now, &changes)
                    {
                    case .cancelled(let transition): effects.events.append(row.event(transition, shard: number))
                    case .requested: if row.command.status.isClaimed { effects.requests.append(row.claimed) }
                    case .ended: row.openDeadline = nil
                    }
                }
            }
            effects.append(shard.takeEffects())
            return Expiry(effects, next: shard.withDeadline.first?.openDeadline)
        }
    }

    package func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> EventPage {
        let limit = max(limit, 0)
        return try withShard(shard) { shard in
            let (rows, number) = (shard.rows, shard.number)
            let events = shard.transitions.lazy.drop { $0.seq <= seq }.compactMap { transition in
                rows[transition.id]?.event(transition, shard: number)
            }
            return EventPage(
                withoutHoles: Array(events.prefix(limit)), after: seq, limit: limit, newest: shard.seq)
        }
    }

    package func lastTransition(shard: Int) throws(StoreError) -> Int64 { try withShard(shard) { $0.seq } }

    package func claimed(shard: Int) throws(StoreError) -> [ClaimedCommand] {
        try withShard(shard) { $0.claimed.map(\.claimed) }
    }

    package func cancellationRequests(shard: Int) throws(StoreError) -> [ClaimedCommand] {
        try withShard(shard) { $0.claimed.filter(\.command.cancelRequested).map(\.claimed) }
    }
}

extension HeldBackPosition {
    fileprivate func precedes(_ other: Self) -> Bool {
        notBefore == other.notBefore ? turn < other.turn : notBefore < other.notBefore
    }
}
