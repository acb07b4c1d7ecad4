internal import Commands

extension SQLiteStore {
    package func migrate(shard: Int, epochs: Set<Int64>) throws(StoreError) -> ShardMigration {
        try self.shard(shard).migrate(epochs: epochs)
    }
}

extension Shard {
    /// Waits for other writes, and other writes wait for it. Processes that have the shard open find out with
    /// their next write.
    fileprivate func migrate(epochs: Set<Int64>) throws(StoreError) -> ShardMigration {
        let before = try use { connection throws(StoreError) in connection.version }
        guard before < Schema.version else { return .notNeeded }
        let outcome = try withUncheckedConnection { connection throws(StoreError) in
            try connection.migrate(epochs: epochs)
        }
        if case .prevented = outcome { return outcome }
        replaceConnections()
        return outcome
    }
}

extension Connection {
    /// - Parameter epochs: of the workers that know this version; nil: no worker runs, whatever the sessions are.
    /// - Precondition: this connection has no substitutes (``Schema/substitutes``), which would hide the tables that
    ///   a migration makes.
    func migrate(epochs: Set<Int64>?) throws(StoreError) -> ShardMigration {
        try execute("BEGIN IMMEDIATE")
        do throws(StoreError) {
            // Another process may have migrated it meanwhile.
            let version = try storedVersion()
            let others =
                try epochs.map { epochs throws(StoreError) in
                    try sessions().filter { !epochs.contains($0.epoch) }
                } ?? []
            guard version < Schema.version, others.isEmpty else {
                rollback()
                return version < Schema.version ? .prevented(version: version, by: others) : .notNeeded
            }
            for step in Schema.migrations[(version - Schema.oldest)...] { try execute(step) }
            try execute("PRAGMA user_version = \(Schema.minReader)")
            try execute("COMMIT")
            return .migrated(from: version)
        } catch {
            rollback()
            throw error
        }
    }
}
