package import Commands

extension SQLiteStore {
    package func prune(
        shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int
    ) throws(StoreError) -> PruneResult {
        let shard = try self.shard(shard)
        guard !isClockHeld else { return PruneResult() }
        let rules = PruneRules(before: before, statuses: statuses, now: clock.now())
        // The search runs outside a write transaction, so that no write waits for it.
        let search = try shard.use { connection throws(StoreError) in
            try connection.search(rules, limit: limit)
        }
        guard !search.candidates.isEmpty || search.isWorthRecording else { return PruneResult() }
        return try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            var pruned = PruneResult()
            // The lowest transition that the next search has to see again.
            var again = Int64.max
            for candidate in search.candidates {
                try connection.prune(candidate, rules, limit: limit, &pruned, &again)
            }
            if try connection.record(search, again: again) { pruned.hasMoved = true }
            return pruned
        }
    }
}

/// The result of a search for old commands.
private struct PruneSearch {
    var candidates: [PruneCandidate] = []
    /// The stored position: `seq` of the last transition that earlier searches have scanned.
    let start: Int64
    /// `seq` of the last transition that was scanned.
    var scannedThrough: Int64
    /// Whether it looked for all commands that a scan finds. Only then the position may go on.
    let isWhole: Bool
    /// Whether the scan went far enough for its position to be stored although it found nothing.
    var isWorthRecording = false
}

/// A command that is to be deleted, unless it has a newer transition by then.
private struct PruneCandidate {
    var turn: Int64
    var newestSeq: Int64
    var status: CommandStatus
    var qos: QualityOfService
    var relations: CommandRelations
}

private enum PruneOutcome {
    case deleted
    /// It is deleted later, with its flow or with the last command that depends on it.
    case passed
    /// It held its ordering key, and is cancelled. A search finds its new transition.
    case cancelled
    /// Its remains are removed first.
    case held
    /// The batch is full.
    case incomplete
}

extension Connection {
    /// Transitions after which the position of the scan is stored although no command was found.
    private static let recordedDistance: Int64 = 10_000

    /// Searches for commands that may be deleted. Transitions are in the order of time, so a scan from the
    /// stored position sees each only once. An index over the ends of commands would make the three
    /// transitions of each command 7 % slower.
    ///
    /// Commands that are deleted later are left out, so that none of them keeps the search from those behind it.
    fileprivate func search(_ rules: PruneRules, limit: Int) throws(StoreError) -> PruneSearch {
        let (before, statuses, now) = (rules.before, rules.statuses, rules.now)
        let start = try prunedThrough()
        var search = PruneSearch(
            start: start, scannedThrough: start, isWhole: statuses.isSuperset(of: [.success, .cancelled]))
        let transitions = try statement(.transitionsAfter, start)
        defer { transitions.reset() }
        var isPast = true
        var ended = 0
        while search.candidates.count < limit, try transitions.step() {
            let (seq, at) = (transitions.int64(0), transitions.time(3))
            // A wrong clock may have dated a transition into the future. The scan goes on behind it, but the stored
            // position stays before it, so that the transition is scanned again.
            if at > now { isPast = false }
            guard at < before || at > now else { break }
            if isPast { search.scannedThrough = seq }
            let status = try transitions.status(2)
            guard at < before, status == .success || status == .cancelled, statuses.contains(status),
                let found = try statement(.ended, transitions.id(1), seq).first(PruneCandidate.init)
            else { continue }
            if let candidate = try deletable(found, rules) { search.candidates.append(candidate) }
            ended += 1
            // The next search goes on here, and this one is short.
            if search.isWhole, isPast, ended >= limit { break }
        }
        let distance = search.scannedThrough - start
        search.isWorthRecording = search.isWhole && distance > (ended >= limit ? 0 : Self.recordedDistance)
        let dead = Array(statuses.intersection([.tooManyTimes, .inDoubt]))
        if let first = dead.first, search.candidates.count < limit {
            let rows = try statement(.deadBefore, before, first, dead.last ?? first)
            defer { rows.reset() }
            while search.candidates.count < limit, try rows.step() {
                if let candidate = try deletable(PruneCandidate(rows), rules) { search.candidates.append(candidate) }
            }
        }
        return search
    }

    private func prunedThrough() throws(StoreError) -> Int64 {
        try statement(.prunedThrough).first { $0.int64(0) } ?? 0
    }

    /// Stores where the next search begins.
    /// - Parameter again: the lowest transition that it has to see.
    /// - Returns: whether it begins behind the start of this one.
    fileprivate func record(_ search: PruneSearch, again: Int64) throws(StoreError) -> Bool {
        let stored = try prunedThrough()
        var position = min(search.isWhole ? search.scannedThrough : search.start, again - 1)
        // Another process has to see transitions again.
        if stored < search.start { position = min(position, stored) }
        if position != stored { try statement(.setPrunedThrough, position).run() }
        return position > search.start
    }

    /// A command that has ended, or the flow whose callback it is.
    /// - Returns: nil where it is not deleted yet, but with its flow or with the last command that depends on it.
    private func deletable(_ ended: PruneCandidate, _ rules: PruneRules) throws(StoreError) -> PruneCandidate? {
        guard ended.relations.contains(.member) else {
            if ended.isHolder { return ended }
            return try isNeeded(ended) ? nil : ended
        }
        // A callback may end long after its flow.
        guard let flow = try node(ended.turn)?.flow,
            try dependencies(of: ended.turn, after: flow - 1, limit: 1).first?.parent == flow,
            let row = try command(turn: flow), rules.admits(row)
        else { return nil }
        let candidate = PruneCandidate(row)
        return try isNeeded(candidate) ? nil : candidate
    }

    /// Whether other commands depend on one. A flow is also needed until its callbacks have ended.
    private func isNeeded(_ candidate: PruneCandidate) throws(StoreError) -> Bool {
        guard candidate.relations.isComposite else {
            guard candidate.relations.contains(.parent) else { return false }
            return try !dependants(of: candidate.turn, after: 0, limit: 1).isEmpty
        }
        var last: Int64 = 0
        while true {
            let page = try dependants(of: candidate.turn, after: last, limit: 16)
            for dependency in page {
                guard try node(dependency.child)?.flow == candidate.turn,
                    try command(turn: dependency.child)?.command.status.isEnd ?? true
                else { return true }
                last = dependency.child
            }
            if page.count < 16 { return false }
        }
    }

    /// Deletes a command, and its parents that nothing else depends on.
    /// - Parameter again: is lowered to the transitions that the next search has to see again.
    fileprivate func prune(
        _ candidate: PruneCandidate, _ rules: PruneRules, limit: Int, _ pruned: inout PruneResult,
        _ again: inout Int64
    ) throws(StoreError) {
        var work = [candidate]
        while let next = work.popLast() {
            let parents = try next.relations.contains(.node) ? dependencies(of: next.turn).map(\.parent) : []
            let outcome = pruned.count < limit ? try prune(next, limit: limit, now: rules.now, &pruned) : .incomplete
            switch outcome {
            case .deleted: break
            case .passed: continue
            case .cancelled:
                pruned.hasMoved = true
                continue
            case .held, .incomplete:
                if outcome == .held { pruned.held += 1 }
                if next.isFoundByScan { again = min(again, next.newestSeq) }
                continue
            }
            for turn in parents {
                guard let row = try command(turn: turn), row.command.status.isEnd, !row.relations.contains(.member)
                else { continue }
                let parent = PruneCandidate(row)
                if rules.admits(row) {
                    work.append(parent)
                } else if parent.isFoundByScan {
                    // The scan has gone past it, because it was needed.
                    again = min(again, parent.newestSeq)
                }
            }
        }
    }

    private func prune(
        _ candidate: PruneCandidate, limit: Int, now: Timestamp, _ pruned: inout PruneResult
    ) throws(StoreError) -> PruneOutcome {
        if candidate.relations.contains(.member) { return .passed }
        if candidate.isHolder, try cancelHolder(candidate, now: now) { return .cancelled }
        if try isNeeded(candidate) { return .passed }
        if candidate.relations.isComposite { return try prune(flow: candidate, limit: limit, &pruned) }
        if try hasten(leftoverOf: candidate.turn) { return .held }
        let isAlone = candidate.relations.subtracting(.batchMember).isEmpty
        if isAlone { try delete(candidate, &pruned) } else { try deleteRelated(candidate, &pruned) }
        return .deleted
    }

    /// Deletes a flow, its nodes first.
    private func prune(
        flow: PruneCandidate, limit: Int, _ pruned: inout PruneResult
    ) throws(StoreError) -> PruneOutcome {
        if try hasten(leftoverOf: flow.turn) { return .held }
        while true {
            // Children before their parents.
            let turns = try lastNodes(of: flow.turn, limit: max(limit - pruned.count, 1))
            if turns.isEmpty { break }
            for turn in turns where try hasten(leftoverOf: turn) { return .held }
            for turn in turns {
                if let row = try command(turn: turn) {
                    try deleteRelated(PruneCandidate(row), &pruned)
                } else {
                    try deleteRelations(of: turn)
                }
            }
            if pruned.count >= limit { return .incomplete }
        }
        try deleteRelated(flow, &pruned)
        return .deleted
    }

    private func lastNodes(of flow: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try statement(.lastNodesOf, flow, limit).rows { $0.int64(0) }
    }

    /// A command that holds its ordering key is cancelled, so that the next one gets the key, and pruned later.
    private func cancelHolder(_ candidate: PruneCandidate, now: Timestamp) throws(StoreError) -> Bool {
        guard var row = try command(turn: candidate.turn), row.newestSeq == candidate.newestSeq,
            row.cancelHolder(now: now, &changes)
        else { return false }
        try save(row)
        return true
    }

    private func deleteRelated(_ candidate: PruneCandidate, _ pruned: inout PruneResult) throws(StoreError) {
        let count = pruned.count
        try delete(candidate, &pruned)
        if pruned.count > count { try deleteRelations(of: candidate.turn) }
    }

    private func deleteRelations(of turn: Int64) throws(StoreError) {
        for query in [
            Query.deleteNode, .deleteDependencies, .deleteDependants, .deleteFlow, .deleteRemoteDependencies,
            .deleteRemoteDependants,
        ] {
            try statement(query, turn).run()
        }
    }

    /// Deletes a command with its payload, result and transitions, unless it has changed since the search.
    fileprivate func delete(_ candidate: PruneCandidate, _ pruned: inout PruneResult) throws(StoreError) {
        try statement(.deleteCommand, candidate.turn, candidate.newestSeq).run()
        guard changedRows == 1 else { return }
        let payload = try statement(.deletePayload, candidate.turn).first { $0.bytes(0) }
        if let payload, candidate.status != .success { pruned.abandoned.append(payload) }
        try statement(.deleteResult, candidate.turn).run()
        var seq = candidate.newestSeq
        while seq > 0 {
            let previous = try statement(.previousTransition, seq).first { $0.int64(0) } ?? 0
            try statement(.deleteTransition, seq).run()
            seq = min(previous, seq - 1)
        }
        // A number is never given twice, even when the newest row is deleted.
        try statement(.raiseSeqFloor, candidate.newestSeq).run()
        try statement(.raiseTurnFloor, candidate.turn).run()
        changes.addToCount(-1, candidate.status, candidate.qos)
        pruned.count += 1
    }
}

/// Which commands are old.
private struct PruneRules {
    var before: Timestamp
    var statuses: Set<CommandStatus>
    /// The time of the call.
    var now: Timestamp

    func admits(_ row: StoredCommand) -> Bool {
        row.command.status.isEnd && statuses.contains(row.command.status) && row.command.updatedAt < before
    }
}

extension PruneCandidate {
    /// Whether the scan of transitions finds it; an index finds the others.
    fileprivate var isFoundByScan: Bool { status == .success || status == .cancelled }
    /// It is in doubt or given up, and holds its ordering key.
    fileprivate var isHolder: Bool {
        status == .inDoubt && relations.contains(.lane)
            || status == .tooManyTimes && relations.contains(.holdsKeyOnFailure)
    }

    fileprivate init(_ row: StoredCommand) {
        self.init(
            turn: row.command.turn, newestSeq: row.newestSeq, status: row.command.status, qos: row.command.qos,
            relations: row.relations)
    }

    /// Reads turn, last, status, qos, relations.
    fileprivate init(_ row: Statement) throws(StoreError) {
        self.init(
            turn: row.int64(0), newestSeq: row.int64(1), status: try row.status(2), qos: try row.qos(3),
            relations: CommandRelations(rawValue: row.int(4)))
    }
}
