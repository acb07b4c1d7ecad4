internal import Commands
internal import Synchronization

extension Connection {
    /// Checks that the file is shard `number` of this store, in a version that this program knows. Migrates
    /// an older one.
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
                .foreign, "\(path) says that it is shard \(facts["number"] ?? "?"); put the right file in its place.",
                shard: number)
        }
        guard shards == count else {
            throw StoreError(
                .missing,
                "The store has \(shards) shards, and \(count) are there: \(options.directory.shard(count)) is missing; "
                    + "put it back.", shard: count)
        }
        let first = options.storeID.withLock { known in
            known = known ?? name
            return known
        }
        guard first == name else {
            throw StoreError(
                .foreign, "\(path) belongs to another store than the other shards; put the right file in its place.",
                shard: number)
        }
        if version < Schema.version { try migrate(number, path) }
    }

    /// The version of the file: from 1 to this program's.
    private func knownVersion(_ number: Int, _ path: String) throws(StoreError) -> Int {
        let version = try integer("PRAGMA user_version")
        // The version is written in one transaction with the application id.
        guard version > 0 else { throw StoreError(.corrupt, "it says that its version is \(version)") }
        guard version <= Schema.version else {
            throw StoreError(
                .foreign,
                "\(path) has version \(version), and this program knows \(Schema.version); use a newer Sluice.",
                shard: number)
        }
        return Int(version)
    }

    static func foreign(_ number: Int, _ path: String) -> StoreError {
        StoreError(.foreign, "\(path) is not a shard of a Sluice store; choose another data directory.", shard: number)
    }

    /// Brings the file to this program's version, in one transaction.
    private func migrate(_ number: Int, _ path: String) throws(StoreError) {
        try execute("BEGIN IMMEDIATE")
        do throws(StoreError) {
            // Another process may have migrated it meanwhile, and may be of a newer program.
            for step in try knownVersion(number, path)..<Schema.version {
                try execute(Schema.migrations[step])
            }
            try execute("PRAGMA user_version = \(Schema.version)")
            try execute("COMMIT")
        } catch {
            rollback()
            throw error
        }
    }

    func integer(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try Statement(sql, sharing: self)
        guard try statement.step() else { return 0 }
        return statement.int64(0)
    }

    private func meta() throws(StoreError) -> [String: String] {
        let statement = try Statement("SELECT key, value FROM meta", sharing: self)
        var facts: [String: String] = [:]
        while try statement.step() { facts[statement.text(0)] = statement.text(1) }
        return facts
    }
}
