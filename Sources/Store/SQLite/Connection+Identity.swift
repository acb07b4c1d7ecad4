internal import Commands
internal import Host
internal import Synchronization

extension Connection {
    /// Checks that the file is shard `number` of this store, in a version that this program can use. A shard of an
    /// earlier version is used as it is; see ``SQLiteStore/migrate(shard:replacing:)``.
    func checkIdentity(number: Int, _ options: ShardOptions) throws(StoreError) {
        let (count, path) = (options.count, options.directory.shard(number))
        let application = try integer("PRAGMA application_id")
        guard application == Int64(Schema.applicationID) else {
            throw Self.foreign(number, path)
        }
        let version = try knownVersion(number, path)
        let facts = try meta()
        guard facts["number"] == "\(number)", let shards = facts["shards"].flatMap({ Int($0) }),
            let name = facts["store"]
        else {
            throw StoreError(
                .foreign, "\(path) says that it is shard \(facts["number"] ?? "?"); \(RestoreAdvice.shard(number)).",
                shard: number)
        }
        guard shards == count else {
            throw StoreError(
                .missing,
                "The store has \(shards) shards, and \(count) are there: \(options.directory.shard(count)) is missing; "
                    + "\(RestoreAdvice.shard(count)).", shard: count)
        }
        let first = options.storeID.withLock { known in
            known = known ?? name
            return known
        }
        guard first == name else {
            throw StoreError(
                .foreign,
                "\(path) belongs to another store than the other shards; \(RestoreAdvice.shard(number)).", shard: number
            )
        }
        backupTime = try Self.backupTime(facts)
        fileID = facts["id"]
        try use(version: version)
    }

    /// The time of the copy that the row `backup` names; nil where the file is not a backup.
    static func backupTime(_ facts: [String: String]) throws(StoreError) -> Timestamp? {
        guard let text = facts["backup"] else { return nil }
        guard let milliseconds = Int64(text) else { throw StoreError(.corrupt, "the time of its backup is “\(text)”") }
        return Timestamp(milliseconds: milliseconds)
    }

    /// The version of the tables.
    /// - Throws: `.foreign` where this program cannot use them.
    func knownVersion(_ number: Int, _ path: String) throws(StoreError) -> Int {
        let minReader = try integer("PRAGMA user_version")
        // The version is written in one transaction with the application id.
        guard minReader > 0 else { throw StoreError(.corrupt, "it says that its version is \(minReader)") }
        let version = try storedVersion()
        guard minReader <= Schema.version else {
            throw StoreError(
                .foreign,
                "\(path) has version \(version), which needs a program that knows version \(minReader), and this one knows "
                    + "\(Schema.version); use a newer Sluice.", shard: number)
        }
        guard version >= Schema.oldest else {
            throw StoreError(
                .foreign,
                "\(path) has version \(version), which is older than release 0.1.0, and this program reads versions from "
                    + "\(Schema.oldest) on; use release 0.1.0 once.", shard: number)
        }
        return version
    }

    func storedVersion() throws(StoreError) -> Int {
        let sql = "SELECT ifnull((SELECT value FROM meta WHERE key = 'version'), (SELECT * FROM pragma_user_version))"
        return Int(try integer(sql))
    }

    static func foreign(_ number: Int, _ path: String) -> StoreError {
        StoreError(.foreign, "\(path) is not a shard of a Sluice store; choose another data directory.", shard: number)
    }

    func integer(_ sql: String) throws(StoreError) -> Int64 {
        try Statement(sql, sharing: self).first { $0.int64(0) } ?? 0
    }

    func meta() throws(StoreError) -> [String: String] {
        let statement = try Statement("SELECT key, value FROM meta", sharing: self)
        var facts: [String: String] = [:]
        while try statement.step() { facts[statement.text(0)] = statement.text(1) }
        return facts
    }
}

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
