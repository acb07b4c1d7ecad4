package import Commands

extension SQLiteStore {
    package func prune(
        shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int
    ) throws(StoreError) -> PruneResult {
        let shard = try self.shard(shard)
        // The search runs outside a write transaction, so that no write waits for it.
        let search = try shard.use { connection throws(StoreError) in
            try connection.search(before: before, statuses: statuses, limit: limit)
        }
        guard !search.candidates.isEmpty || search.isWorthRecording else { return PruneResult() }
        let isWhole = statuses.isSuperset(of: [.success, .cancelled])
        return try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            var pruned = PruneResult()
            var scannedThrough = search.scannedThrough
            for candidate in search.candidates {
                let again = try connection.prune(candidate, before: before, statuses: statuses, limit: limit, &pruned)
                // The next scan finds the command again.
                if let again { scannedThrough = min(scannedThrough, again - 1) }
            }
            if isWhole { try connection.setPrunedThrough(scannedThrough) }
            return pruned
        }
    }
}

/// The result of a search for old commands.
private struct PruneSearch {
    var candidates: [PruneCandidate] = []
    /// `seq` of the last transition that was scanned.
    var scannedThrough: Int64
    /// Whether the scan went far enough for `scannedThrough` to be stored.
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
    /// It goes with its flow, or with the last command that depends on it.
    case passed
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
    fileprivate func search(
        before: Timestamp, statuses: Set<CommandStatus>, limit: Int
    ) throws(StoreError) -> PruneSearch {
        let start = try statement(.prunedThrough).first { $0.int64(0) } ?? 0
        var search = PruneSearch(scannedThrough: start)
        let transitions = try statement(.transitionsAfter, start)
        defer { transitions.reset() }
        let now = Timestamp.now
        var isPast = true
        while search.candidates.count < limit, try transitions.step() {
            let (seq, at) = (transitions.int64(0), transitions.time(3))
            // A wrong clock may have dated a transition into the future. The scan goes on behind it, but the stored
            // position stays before it, so that the transition is scanned again.
            if at > now { isPast = false }
            guard at < before || at > now else { break }
            if isPast { search.scannedThrough = seq }
            let status = try transitions.status(2)
            guard at < before, status == .success || status == .cancelled, statuses.contains(status) else { continue }
            let ended = try statement(.ended, transitions.id(1), seq)
            if let candidate = try ended.first(PruneCandidate.init) { search.candidates.append(candidate) }
        }
        search.isWorthRecording = search.scannedThrough - start > Self.recordedDistance
        let dead = Array(statuses.intersection([.tooManyTimes, .inDoubt]))
        if let first = dead.first, search.candidates.count < limit {
            search.candidates += try statement(
                .deadBefore, before, first, dead.last ?? first, limit - search.candidates.count
            ).rows(PruneCandidate.init)
        }
        return search
    }

    fileprivate func setPrunedThrough(_ seq: Int64) throws(StoreError) {
        try statement(.setPrunedThrough, seq).run()
    }

    /// Deletes a command, and its parents that nothing else depends on.
    /// - Returns: the lowest `seq` from which the next scan has to look again; nil where it has not.
    fileprivate func prune(
        _ candidate: PruneCandidate, before: Timestamp, statuses: Set<CommandStatus>, limit: Int,
        _ pruned: inout PruneResult
    ) throws(StoreError) -> Int64? {
        var again: Int64?
        var work = [candidate]
        while let next = work.popLast() {
            let parents = try next.relations.contains(.node) ? dependencies(of: next.turn).map(\.parent) : []
            let outcome = pruned.count < limit ? try prune(next, limit: limit, &pruned) : .incomplete
            switch outcome {
            case .deleted: break
            case .passed:
                if next.status != .tooManyTimes { pruned.passed += 1 }
                continue
            case .held, .incomplete:
                if outcome == .held { pruned.held += 1 }
                // Another scan finds dead letters.
                if next.status != .tooManyTimes { again = min(again ?? .max, next.newestSeq) }
                continue
            }
            for turn in parents {
                guard let row = try command(turn: turn), row.command.status.isEnd,
                    statuses.contains(row.command.status), row.command.updatedAt < before,
                    !row.relations.contains(.member)
                else { continue }
                work.append(PruneCandidate(row))
            }
        }
        return again
    }

    private func prune(
        _ candidate: PruneCandidate, limit: Int, _ pruned: inout PruneResult
    ) throws(StoreError) -> PruneOutcome {
        if candidate.relations.contains(.member) { return .passed }
        if candidate.relations.contains(.lane), candidate.status == .inDoubt, try cancelInDoubt(candidate) {
            return .held
        }
        if candidate.relations.isComposite { return try prune(flow: candidate, limit: limit, &pruned) }
        if candidate.relations.contains(.parent), try !dependants(of: candidate.turn, after: 0, limit: 1).isEmpty {
            return .passed
        }
        if try hasten(leftoverOf: candidate.turn) { return .held }
        let isAlone = candidate.relations.subtracting(.batchMember).isEmpty
        if isAlone { try delete(candidate, &pruned) } else { try deleteRelated(candidate, &pruned) }
        return .deleted
    }

    /// Deletes a flow, its nodes first. As long as one of its callbacks has not ended, or a command outside of it depends on
    /// it, the flow stays.
    private func prune(
        flow: PruneCandidate, limit: Int, _ pruned: inout PruneResult
    ) throws(StoreError) -> PruneOutcome {
        for dependency in try dependants(of: flow.turn, after: 0, limit: 16) {
            guard try node(dependency.child)?.flow == flow.turn else { return .passed }
            guard try command(turn: dependency.child)?.command.status.isEnd ?? true else { return .incomplete }
        }
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

    /// A command in doubt holds its ordering key. It is cancelled, so that the next one gets the key, and pruned later.
    private func cancelInDoubt(_ candidate: PruneCandidate) throws(StoreError) -> Bool {
        guard var row = try command(turn: candidate.turn), row.newestSeq == candidate.newestSeq,
            row.resolve(as: .cancelled, by: Actor.person, now: .now, &changes) != nil
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

extension PruneCandidate {
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
