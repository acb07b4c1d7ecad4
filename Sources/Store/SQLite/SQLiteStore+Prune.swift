package import Commands

extension SQLiteStore {
    package func prune(
        shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int
    ) throws(StoreError) -> Pruned {
        let shard = try self.shard(shard)
        // Looked for outside a transaction, so that no writer waits for the search.
        let search = try shard.use { connection throws(StoreError) in
            try connection.search(before: before, statuses: statuses, limit: limit)
        }
        guard !search.victims.isEmpty || search.isFar else { return Pruned() }
        let isWhole = statuses.isSuperset(of: [.success, .cancelled])
        return try shard.write(timeout: shortTimeout) { connection throws(StoreError) in
            var pruned = Pruned()
            for victim in search.victims { try connection.delete(victim, &pruned) }
            if isWhole { try connection.setPrunedThrough(search.through) }
            return pruned
        }
    }
}

/// What a search for old commands found.
private struct PruneSearch {
    var victims: [Victim] = []
    /// The last transition looked at.
    var through: Int64
    /// So much was looked at in vain that it is worth remembering.
    var isFar = false
}

/// A command that is to be deleted, as long as this is still its newest transition.
private struct Victim {
    var turn: Int64
    var last: Int64
    var status: CommandStatus
    var qos: QualityOfService
}

extension Connection {
    /// Transitions looked at in vain after which the place is remembered.
    private static let far: Int64 = 10_000

    /// Looks for what may be deleted. Transitions are in the order of time, so each is looked at once: an index over the
    /// ends of commands would cost each command 7 % of its three transitions.
    fileprivate func search(
        before: Timestamp, statuses: Set<CommandStatus>, limit: Int
    ) throws(StoreError) -> PruneSearch {
        let place = try statement(.prunedThrough)
        let start = try place.step() ? place.int64(0) : 0
        place.reset()
        var search = PruneSearch(through: start)
        let transitions = try statement(.transitionsAfter)
        transitions.bind(start, at: 1)
        defer { transitions.reset() }
        let now = Timestamp.now
        var isPast = true
        while search.victims.count < limit, try transitions.step() {
            let (seq, at) = (transitions.int64(0), transitions.time(3))
            // What a wrong clock dated into the future is not passed for good, and hides nothing behind it.
            if at > now { isPast = false }
            guard at < before || at > now else { break }
            if isPast { search.through = seq }
            let status = try transitions.status(2)
            guard at < before, status == .success || status == .cancelled, statuses.contains(status) else { continue }
            let look = try statement(.ended)
            look.bind(try transitions.id(1), at: 1)
            look.bind(seq, at: 2)
            if try look.step() { search.victims.append(try Victim(look)) }
            look.reset()
        }
        search.isFar = search.through - start > Self.far
        let dead = Array(statuses.intersection([.tooManyTimes, .inDoubt]))
        if let first = dead.first, search.victims.count < limit {
            let statement = try statement(.deadBefore)
            defer { statement.reset() }
            statement.bind(before, at: 1)
            statement.bind(first, at: 2)
            statement.bind(dead.last ?? first, at: 3)
            statement.bind(limit - search.victims.count, at: 4)
            while try statement.step() { search.victims.append(try Victim(statement)) }
        }
        return search
    }

    fileprivate func setPrunedThrough(_ seq: Int64) throws(StoreError) {
        let set = try statement(.setPrunedThrough)
        set.bind(seq, at: 1)
        try set.run()
    }

    /// Deletes a command with everything that is its, where it is still as it was found.
    fileprivate func delete(_ victim: Victim, _ pruned: inout Pruned) throws(StoreError) {
        let command = try statement(.deleteCommand)
        command.bind(victim.turn, at: 1)
        command.bind(victim.last, at: 2)
        try command.run()
        guard changes == 1 else { return }
        let payload = try statement(.deletePayload)
        payload.bind(victim.turn, at: 1)
        if try payload.step(), victim.status != .success { pruned.abandoned.append(payload.bytes(0)) }
        payload.reset()
        let result = try statement(.deleteResult)
        result.bind(victim.turn, at: 1)
        try result.run()
        var seq = victim.last
        while seq > 0 {
            let look = try statement(.previousTransition)
            look.bind(seq, at: 1)
            let previous = try look.step() ? look.int64(0) : 0
            look.reset()
            let delete = try statement(.deleteTransition)
            delete.bind(seq, at: 1)
            try delete.run()
            seq = min(previous, seq - 1)
        }
        // Numbers are never given twice, also when the newest row goes.
        for (query, floor) in [(Query.raiseSeqFloor, victim.last), (.raiseTurnFloor, victim.turn)] {
            let raise = try statement(query)
            raise.bind(floor, at: 1)
            try raise.run()
        }
        journal.add(-1, to: victim.status, victim.qos)
        pruned.count += 1
    }
}

extension Victim {
    /// Reads turn, last, status, qos.
    fileprivate init(_ row: Statement) throws(StoreError) {
        self.init(turn: row.int64(0), last: row.int64(1), status: try row.status(2), qos: try row.qos(3))
    }
}
