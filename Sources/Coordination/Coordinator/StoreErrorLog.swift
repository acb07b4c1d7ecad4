internal import Host
internal import Store

/// Which errors of the store are worth a log line. Pure.
///
/// A damaged shard stays damaged until a person mends it, so its error is logged once. A shard that another
/// process keeps locked is logged once a minute.
struct StoreErrorLog {
    /// Messages of damaged shards.
    private var logged: Set<String> = []
    /// When each locked shard was logged last.
    private var lockedAt: [Int: MonotonicTime] = [:]

    static let lockedInterval: Duration = .seconds(60)

    mutating func isNew(_ error: StoreError, now: MonotonicTime) -> Bool {
        if error.code == .busy, let shard = error.shard {
            if let before = lockedAt[shard], now - before < Self.lockedInterval { return false }
            lockedAt[shard] = now
        }
        return !error.code.makesShardUnusable || logged.insert(error.message).inserted
    }
}
