internal import Commands

extension SQLiteStore {
    package func types() throws(StoreError) -> Set<String> {
        for shard in shards {
            let found = try ifUsable { () throws(StoreError) in
                try shard.use { connection throws(StoreError) in try connection.readTypes() }
            }
            if let found { return found }
        }
        return []
    }

    package func record(types: Set<String>) throws(StoreError) {
        if let wrong = types.first(where: { !CommandDraft.isType($0) }) {
            throw StoreError.notAType(wrong)
        }
        var loss: StoreError?
        for shard in shards {
            do throws(StoreError) {
                let known = try shard.use { connection throws(StoreError) in try connection.readTypes() }
                guard !types.isSubset(of: known) else { continue }
                try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
                    for type in types { try connection.statement(.addType, type).run() }
                }
            } catch {
                guard error.code.makesShardUnusable else { throw error }
                loss = error
            }
        }
        if let loss { throw loss }
    }
}

extension Connection {
    func readTypes() throws(StoreError) -> Set<String> {
        knownTypes = Set(try statement(.types).rows { $0.text(0) })
        return knownTypes
    }

    /// Whether a worker can run the type, or once could.
    func isKnown(_ type: String) throws(StoreError) -> Bool {
        if knownTypes.contains(type) { return true }
        return try readTypes().contains(type)
    }
}
