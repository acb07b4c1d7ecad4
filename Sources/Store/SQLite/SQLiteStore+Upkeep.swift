package import Commands
internal import Host
internal import Synchronization

extension SQLiteStore {
    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try shards[0].write(timeout: timeout) { connection throws(StoreError) in
            for (key, value) in settings { try connection.set(key, value) }
        }
        if settings.contains(where: { $0.key == SettingKey.clockHold }) { clockTrust.readAgain() }
    }

    package func update(
        _ key: String, timeout: Duration, _ change: (String?) -> String?
    ) throws(StoreError) {
        try shards[0].write(timeout: timeout) { connection throws(StoreError) in
            let before = try connection.setting(key)
            let after = change(before)
            if after != before { try connection.set(key, after) }
        }
    }

    package func setting(_ key: String) throws(StoreError) -> String? {
        try shards[0].use { connection throws(StoreError) in try connection.setting(key) }
    }

    package func settings(prefix: String) throws(StoreError) -> [String: String] {
        try shards[0].use { connection throws(StoreError) in
            let statement = try connection.statement(.setting, prefix)
            var settings: [String: String] = [:]
            while try statement.step() { settings[statement.text(0)] = statement.text(1) }
            return settings
        }
    }

    /// - Precondition: the caller holds `run/checkpoint.lock`.
    package func checkpoint(shard: Int) throws(StoreError) -> Int64 { try self.shard(shard).checkpoint() }

    package func walSize(shard: Int) -> Int64 { shards.indices.contains(shard) ? shards[shard].walSize : 0 }

    package func integrityCheck(shard: Int) throws(StoreError) -> [String] {
        try self.shard(shard).withOwnConnection { connection throws(StoreError) in try connection.integrityCheck() }
    }
}

extension Connection {
    func setting(_ key: String) throws(StoreError) -> String? {
        try statement(.settingOf, key).first { $0.text(0) }
    }

    /// - Parameter value: nil removes the setting.
    fileprivate func set(_ key: String, _ value: String?) throws(StoreError) {
        if let value {
            try statement(.setSetting, key, value).run()
        } else {
            try statement(.removeSetting, key).run()
        }
    }

    func integrityCheck() throws(StoreError) -> [String] {
        let lines = try Statement("PRAGMA integrity_check", sharing: self).rows { $0.text(0) }
        return lines == ["ok"] ? [] : lines
    }
}

/// The statements of settings.
extension Query {
    static let setting = Query("SELECT key, value FROM setting WHERE substr(key, 1, length(?1)) = ?1")
    static let settingOf = Query("SELECT value FROM setting WHERE key = ?1")
    static let setSetting = Query("INSERT OR REPLACE INTO setting(key, value) VALUES (?1, ?2)")
    static let removeSetting = Query("DELETE FROM setting WHERE key = ?1")
}

extension SQLiteStore: StoreHealth {
    package var problems: [StoreError] { shards.compactMap(\.problem) }

    /// A process keeps the WAL of these shards from being started over.
    package var overloads: [StoreError] { shards.filter { $0.problem == nil }.compactMap(\.overload) }

    package var backupTime: Timestamp? { shards[0].options.backupTime.withLock { $0 } }

    package func copyWarning() -> String? { copiedDirectory()?.sentence(directory.path) }

    package func requireOriginal() throws(StoreError) {
        try refuseBackup()
        try refuseCopy()
    }

    /// - Throws: `.backup` where a shard is a backup. Any other problem of a shard is an error of its first use.
    func refuseBackup() throws(StoreError) {
        for shard in shards { try? shard.use { _ in } }
        if let time = backupTime { throw StoreError.backup(in: directory, of: time) }
    }

    package func durability() throws(StoreError) -> String {
        let (journal, synchronous) = try shards[0].use { connection throws(StoreError) in
            (try connection.pragma("journal_mode"), try connection.pragma("synchronous"))
        }
        let levels = ["0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"]
        let meaning = ["2", "3"].contains(synchronous) ? ": what is acknowledged is on disk" : ""
        return "\(journal.uppercased()), synchronous=\(levels[synchronous] ?? synchronous)\(meaning)"
    }
}

extension Connection {
    func pragma(_ name: String) throws(StoreError) -> String {
        try Statement("PRAGMA \(name)", sharing: self).first { $0.text(0) } ?? ""
    }
}

extension SQLiteStore {
    package func cleanUp(
        shard number: Int, limit: Int, _ cleanup: (Leftover) -> CommandDraft?
    ) throws(StoreError) -> Int {
        let now = clock.now()
        let shard = try self.shard(number)
        // Outside a write transaction, so that no write waits where there is nothing to do.
        let isDue = try shard.use { connection throws(StoreError) in try connection.hasLeftover(due: now) }
        guard isDue, !isClockHeld else { return 0 }
        return try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            let leftovers = try connection.leftovers(due: now, limit: limit)
            var drafts: [CommandDraft] = []
            var pending: [PendingInsert] = []
            for leftover in leftovers {
                try connection.dropLeftover(of: leftover.command)
                guard leftover.isOfEnded, let draft = cleanup(leftover), draft.problem == nil else { continue }
                // A retry of the command begins anew, so it never uses what the draft removes.
                try connection.dropCheckpoint(of: leftover.command)
                let id = CommandID(now: now, shardByte: leftover.command.id.shardByte)
                pending.append(PendingInsert(index: drafts.count, id: id))
                drafts.append(draft)
            }
            for result in try connection.insert(drafts, pending, allowUnknownTypes: true, now: now) {
                _ = try result.get()
            }
            return leftovers.count
        }
    }
}

extension Connection {
    fileprivate func hasLeftover(due: Timestamp) throws(StoreError) -> Bool {
        try statement(.hasLeftover, due).hasRow()
    }

    fileprivate func leftovers(due: Timestamp, limit: Int) throws(StoreError) -> [Leftover] {
        try statement(.leftovers, due, limit).rows { row throws(StoreError) in
            Leftover(
                command: try StoredCommand(row, self).command, payload: row.bytes(Query.columnCount),
                checkpoint: row.optionalBytes(Query.columnCount + 1) ?? [])
        }
    }

    /// Records that a command has ended, if it has a checkpoint.
    func recordLeftover(of command: Command) throws(StoreError) {
        try statement(.recordLeftover, command.turn, Leftover.due(command)).run()
    }

    /// The command runs again, or its remains are taken care of.
    func dropLeftover(of command: Command) throws(StoreError) { try statement(.dropLeftover, command.turn).run() }

    /// Makes the leftover of a command that is to be deleted due at once.
    /// - Returns: false where it has none.
    func hasten(leftoverOf turn: Int64) throws(StoreError) -> Bool {
        try statement(.hastenLeftover, turn).run()
        return changedRows > 0
    }

    fileprivate func dropCheckpoint(of command: Command) throws(StoreError) {
        try statement(.dropCheckpoint, command.turn).run()
    }
}
