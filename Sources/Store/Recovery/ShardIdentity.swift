internal import Commands

/// The rows of `meta` that say which shard of which store a file is.
struct ShardIdentity: Sendable, Equatable {
    var store: String
    var count: Int
    var number: Int
    /// When it was copied, where it is a backup.
    var backup: Timestamp?

    /// - Throws: `.foreign` where the rows are not those of a shard.
    init(_ meta: [String: String]) throws(StoreError) {
        guard let store = meta["store"], let count = meta["shards"].flatMap({ Int($0) }),
            let number = meta["number"].flatMap({ Int($0) })
        else { throw StoreError(.foreign, "The file does not say which shard of which store it is.") }
        self.store = store
        self.count = count
        self.number = number
        backup = try Connection.backupTime(meta)
    }
}
