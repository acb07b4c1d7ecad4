internal import Commands
internal import Console
internal import Host
internal import Store

/// The part of `prune --compact` that makes the files of the store smaller, and its output.
struct CompactionRun {
    private var before: Int64 = 0
    private var after: Int64 = 0

    /// Compacts one shard after the other.
    static func compact(_ directory: DataDirectory) throws -> CompactionRun {
        SignalHandling.exits { Compaction.removeUnfinished(directory) }
        let compaction = try Compaction(directory)
        let shards = try compaction.shards()
        var run = CompactionRun()
        for shard in shards {
            Diagnostics.showStatus { _ in "compacting shard \(shard + 1) of \(shards.count)" }
            let (before, after) = try compaction.run(shard: shard)
            run.before += before
            run.after += after
        }
        return run
    }

    var lines: [String] { ["store compacted from \(Figures.bytes(before)) to \(Figures.bytes(after))"] }

    var members: [JSONValue.Member] {
        [.init("bytesBefore", .integer(before)), .init("bytesAfter", .integer(after))]
    }
}
