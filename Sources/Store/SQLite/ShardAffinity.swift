/// Where single submits go: where the last one went, whose connection and pages are at hand, here and in the worker that
/// takes it. They move on when somebody else commits there, so that producers come to have shards of their own, and when
/// the shard has had its share, so that all grow alike. Pure.
struct ShardAffinity: Sendable {
    private var shard = 0
    private var left = 0

    /// Submits in a row.
    static let share = 64

    /// - Parameter isFree: of each shard; one at least is.
    mutating func next(among isFree: [Bool], using random: inout some RandomNumberGenerator) -> Int {
        if left == 0 || !isFree[shard] {
            let free = isFree.indices.filter { isFree[$0] }
            shard = free[Int.random(in: free.indices, using: &random)]
            left = Self.share
        }
        left -= 1
        return shard
    }
}
