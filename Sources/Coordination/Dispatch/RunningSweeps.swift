/// Shards that are being swept. A sweep that is requested meanwhile runs afterwards, because the running one
/// may have read the store before the change. Pure.
struct RunningSweeps: Sendable {
    /// True where the shard is to be swept once more.
    private var shards: [Int: Bool] = [:]

    /// - Returns: false where the shard is being swept.
    mutating func start(_ shard: Int) -> Bool {
        guard shards[shard] == nil else {
            shards[shard] = true
            return false
        }
        shards[shard] = false
        return true
    }

    /// - Returns: whether to sweep the shard again.
    mutating func finish(_ shard: Int) -> Bool { shards.removeValue(forKey: shard) ?? false }
}
