/// A store in shards. Writes to one shard take turns; reads, and calls on different shards, do not wait for each other.
package protocol ShardedStore: Sendable {
    /// The number of shards: a power of two from 1 to 256, fixed when the store was created.
    var shardCount: Int { get }
    /// The clock of the times that the calls write, and by which they decide what is due, passed or lapsed.
    var clock: any StoreClock { get }
    /// The shards whose writes may share a commit with those of `shard`, which is one of them. They are consecutive, and the
    /// groups are numbered in their order. Default: the shard alone.
    func commitGroup(of shard: Int) -> CommitGroup
}

extension ShardedStore {
    /// Makes a call again for as long as its outcome is unknown.
    /// - Parameter call: gets whether it is a repetition. It changes nothing where the first one did.
    /// - Throws: `unknown` also where a repetition fails for another reason, because the first call may have been made.
    package func untilKnown<Value>(
        _ call: (_ isRepetition: Bool) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        var unknown: StoreError?
        while true {
            do throws(StoreError) {
                return try call(unknown != nil)
            } catch {
                guard error.code == .unknown else { throw unknown ?? error }
                unknown = error
            }
        }
    }
}
