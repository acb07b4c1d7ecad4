package import Commands

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension SQLiteStore {
    package func set(_ key: String, to value: String?) throws(StoreError) {
        try shards[0].write { connection throws(StoreError) in
            let statement = try connection.statement(value == nil ? .removeSetting : .setSetting)
            statement.bind(key, at: 1)
            if let value { statement.bind(value, at: 2) }
            try statement.run()
        }
    }

    package func settings(prefix: String) throws(StoreError) -> [String: String] {
        try shards[0].use { connection throws(StoreError) in
            let statement = try connection.statement(.setting)
            statement.bind(prefix, at: 1)
            var settings: [String: String] = [:]
            while try statement.step() { settings[statement.text(0)] = statement.text(1) }
            return settings
        }
    }

    package func prune(
        shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int
    ) throws(StoreError) -> Int {
        let ended = statuses.intersection([.success, .cancelled])
        let dead = statuses.intersection([.tooManyTimes, .inDoubt])
        let shard = try self.shard(shard)
        // Looked at outside a transaction, so that nobody waits for a look that finds nothing.
        let isThere = try shard.use { connection throws(StoreError) in
            var old = try connection.pruned(.endedBefore, ended, before: before, limit: 1)
            old += try connection.pruned(.deadBefore, dead, before: before, limit: 1)
            return !old.isEmpty
        }
        guard isThere else { return 0 }
        return try shard.write { connection throws(StoreError) in
            var victims = try connection.pruned(.endedBefore, ended, before: before, limit: limit)
            victims += try connection.pruned(.deadBefore, dead, before: before, limit: limit - victims.count)
            for victim in victims { try connection.delete(victim) }
            return victims.count
        }
    }

    /// - Precondition: the caller holds `run/checkpoint.lock`.
    package func checkpoint(shard: Int) throws(StoreError) -> Int64 { try self.shard(shard).checkpoint() }

    package func walSize(shard: Int) -> Int64 { shards.indices.contains(shard) ? shards[shard].walSize : 0 }

    package func integrityCheck(shard: Int) throws(StoreError) -> [String] {
        try self.shard(shard).aside { connection throws(StoreError) in try connection.integrityCheck() }
    }

    package func backup(to directory: String, progress: (_ shard: Int) -> Void) throws(StoreError) {
        let target = DataDirectory(path: directory)
        try target.prepare()
        if let taken = try target.shards().first {
            throw StoreError(
                .invalid, "\(target.shard(taken)) is there already; choose an empty directory for a backup.")
        }
        for shard in shards {
            let copy = target.shard(shard.number) + ".part"
            unlink(copy)
            // VACUUM INTO takes an empty file, and leaves it its mode.
            try target.touch(copy)
            do throws(StoreError) {
                try shard.aside { connection throws(StoreError) in
                    let vacuum = try Statement("VACUUM INTO ?1", sharing: connection)
                    vacuum.bind(copy, at: 1)
                    try vacuum.run()
                }
                let problems = try Connection.check(copy: copy, shard: shard.number)
                guard problems.isEmpty else {
                    throw StoreError(
                        .corrupt, "The copy of shard \(shard.number) is damaged: \(problems.joined(separator: "; ")).",
                        shard: shard.number)
                }
                guard rename(copy, target.shard(shard.number)) == 0 else {
                    throw StoreError(errno: errno, "\(copy) cannot be renamed")
                }
            } catch {
                for suffix in ["", "-wal", "-shm", "-journal"] { unlink(copy + suffix) }
                throw error
            }
            progress(shard.number)
        }
    }
}

/// A command that is to be deleted.
struct Victim {
    var turn: Int64
    var last: Int64
    var status: CommandStatus
    var qos: QualityOfService
}

extension Connection {
    fileprivate func pruned(
        _ query: Query, _ statuses: Set<CommandStatus>, before: Timestamp, limit: Int
    ) throws(StoreError) -> [Victim] {
        guard limit > 0, let first = statuses.first else { return [] }
        let statement = try statement(query)
        defer { statement.reset() }
        statement.bind(before, at: 1)
        statement.bind(first, at: 2)
        statement.bind(statuses.count > 1 ? statuses.first { $0 != first } ?? first : first, at: 3)
        statement.bind(limit, at: 4)
        var victims: [Victim] = []
        while try statement.step() {
            victims.append(
                Victim(
                    turn: statement.int64(0), last: statement.int64(2), status: try statement.status(3),
                    qos: try statement.qos(4)))
        }
        return victims
    }

    /// Deletes a command with everything that is its.
    fileprivate func delete(_ victim: Victim) throws(StoreError) {
        for query in [Query.deleteCommand, .deletePayload, .deleteResult] {
            let delete = try statement(query)
            delete.bind(victim.turn, at: 1)
            try delete.run()
        }
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
    }

    func integrityCheck() throws(StoreError) -> [String] {
        let statement = try Statement("PRAGMA integrity_check", sharing: self)
        var lines: [String] = []
        while try statement.step() { lines.append(statement.text(0)) }
        return lines == ["ok"] ? [] : lines
    }

    /// Checks a file that nobody else uses, and leaves no other file beside it.
    fileprivate static func check(copy: String, shard: Int) throws(StoreError) -> [String] {
        do {
            let connection = try Connection(shard: shard, path: copy, vfs: nil)
            let problems = try connection.use { () throws(StoreError) in
                let problems = try connection.integrityCheck()
                try connection.execute("PRAGMA journal_mode = DELETE")
                return problems
            }
            return problems
        }
    }
}
