package import Commands
internal import Host
internal import Synchronization

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
