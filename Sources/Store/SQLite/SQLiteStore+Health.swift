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
    package func refuseBackup() throws(StoreError) {
        for shard in shards { try? shard.use { _ in } }
        if let time = backupTime { throw StoreError.backup(in: directory, of: time) }
    }

    package func durability() throws(StoreError) -> String {
        let journal = try pragma("journal_mode", shard: 0)
        let synchronous = try pragma("synchronous", shard: 0)
        let levels = ["0": "OFF", "1": "NORMAL", "2": "FULL", "3": "EXTRA"]
        let meaning = ["2", "3"].contains(synchronous) ? ": what is acknowledged is on disk" : ""
        return "\(journal.uppercased()), synchronous=\(levels[synchronous] ?? synchronous)\(meaning)"
    }

    /// The value of a pragma on the connection that writes.
    /// - Parameter ofCheckpointer: reads it on the connection that copies the WAL instead, which the first
    ///   checkpoint opens.
    package func pragma(
        _ name: String, shard: Int, ofCheckpointer: Bool = false
    ) throws(StoreError) -> String {
        guard name.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) })
        else { throw StoreError(.invalid, "“\(name)” is not a pragma.") }
        func value(on connection: Connection) throws(StoreError) -> String {
            try Statement("PRAGMA \(name)", sharing: connection).first { $0.text(0) } ?? ""
        }
        let shard = try self.shard(shard)
        guard ofCheckpointer else {
            return try shard.use { connection throws(StoreError) in try value(on: connection) }
        }
        return try shard.useCheckpointer { connection throws(StoreError) in try value(on: connection) }
    }

    /// Opens every shard now. Unusable shards are skipped; see ``problems``.
    package func openAll() throws(StoreError) {
        for shard in shards { try ifUsable { () throws(StoreError) in try shard.use { _ in } } }
    }
}
