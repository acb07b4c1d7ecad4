internal import Commands
internal import Store

/// Cancellation requests that workers have not carried out yet. Pure.
struct CancellationRequests: Sendable {
    /// The claim that each is meant for.
    private(set) var claims: [CommandID: Int] = [:]
    private let shardCount: Int

    init(shardCount: Int) { self.shardCount = shardCount }

    mutating func add(_ rows: [ClaimedCommand]) { for row in rows { claims[row.id] = row.claim } }

    /// - Returns: whether there was a request.
    mutating func remove(_ id: CommandID) -> Bool { claims.removeValue(forKey: id) != nil }

    /// Takes in all that the store has in a shard.
    /// - Returns: whether that is news.
    mutating func replace(shard: Int, with rows: [ClaimedCommand]) -> Bool {
        let before = claims
        claims = claims.filter { $0.key.shard(of: shardCount) != shard }
            .merging(rows.map { ($0.id, $0.claim) }, uniquingKeysWith: max)
        return claims != before
    }
}
