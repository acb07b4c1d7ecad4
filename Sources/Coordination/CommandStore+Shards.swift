internal import Store

extension CommandStore {
    /// Reads something of every shard, in order. One that is damaged, foreign or gone gives `nothing`: it must not stop
    /// the work of the others, and whoever works with it says so.
    func ofEachShard<Value>(
        or nothing: Value, _ read: (_ shard: Int) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        var values: [Value] = []
        for shard in 0..<shardCount {
            do throws(StoreError) {
                values.append(try read(shard))
            } catch {
                switch error.code {
                case .corrupt, .foreign, .missing: values.append(nothing)
                case .permission, .busy, .full, .overloaded, .conflict, .invalid, .notFound, .failed: throw error
                }
            }
        }
        return values
    }
}
