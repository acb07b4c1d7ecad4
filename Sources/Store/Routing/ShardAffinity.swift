/// Chooses the shard of a single submit. Pure.
///
/// It stays at the shard of the last submit, whose connection and pages are warm here and in the worker that
/// takes the command. It moves on when another process commits there, so that producers spread over the
/// shards, and after ``maxConsecutive`` submits, so that all shards grow alike.
struct ShardAffinity: Sendable {
    private var shard = 0
    private var remaining = 0

    /// Submits to one shard in a row.
    static let maxConsecutive = 64

    /// - Parameter isFree: whether each shard may be chosen; at least one is true.
    mutating func next(among isFree: [Bool], using random: inout some RandomNumberGenerator) -> Int {
        if remaining == 0 || !isFree[shard] {
            let free = isFree.indices.filter { isFree[$0] }
            shard = free[Int.random(in: free.indices, using: &random)]
            remaining = Self.maxConsecutive
        }
        remaining -= 1
        return shard
    }
}
