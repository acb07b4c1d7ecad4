package import Commands
package import Host
internal import Store

/// The removal of old commands.
extension QueueAccess {
    private static let batch = 500
    /// Each may have a payload of 1 MiB.
    private static let cleanUpBatch = 16

    /// Removes commands that ended before a time, with their payloads, results, timelines and spooled copies, in small
    /// batches beside everything else. A shard that fails does not end the others.
    /// - Parameters:
    ///   - cleanup: the command that removes what an ended one has left elsewhere; nil: nothing.
    ///   - progress: the shard, and the commands that were removed so far.
    /// - Returns: the number of removed commands, and the failures.
    /// - Throws: `tryAgain` while the wall clock is not trusted: nothing is removed then.
    package func prune(
        endedBefore time: Timestamp, in statuses: Set<CommandStatus>,
        cleanup: (_ command: Command, _ payload: [UInt8], _ checkpoint: [UInt8]) -> CommandDraft?,
        progress: (_ shard: Int, _ removed: Int) -> Void
    ) throws -> (removed: Int, failures: [SluiceError]) {
        if let hold = try store.clockHold() {
            throw SluiceError(.tryAgain, "nothing is removed now: \(hold.sentence(now: .now))")
        }
        let spool = Spool(directory: directory.spool)
        var (total, failures) = (0, [SluiceError]())
        for shard in 0..<store.shardCount {
            do throws(StoreError) {
                var isRepeated = false
                while true {
                    while try store.cleanUp(
                        shard: shard, limit: Self.cleanUpBatch,
                        { cleanup($0.command, $0.payload, $0.checkpoint) }) > 0
                    { isRepeated = false }
                    let pruned = try store.prune(shard: shard, before: time, statuses: statuses, limit: Self.batch)
                    for payload in pruned.abandoned { spool.discard(stored: payload) }
                    // Those that were held are tried once more after a cleanup.
                    if pruned.isEnd, pruned.held == 0 || isRepeated { break }
                    isRepeated = pruned.isEnd
                    total += pruned.count
                    progress(shard, total)
                }
            } catch {
                failures.append(SluiceError(error))
            }
        }
        return (total, failures)
    }
}

/// Makes the files of a store smaller. It has the store for itself from its start to its end.
package struct StoreCompaction {
    private let compaction: Compaction

    /// - Throws: `tryAgain` with the process that uses the data directory; `unsuitable` where it is a copy of another.
    package init(_ directory: DataDirectory) throws { compaction = try Compaction(directory) }

    /// Compacts one shard after the other.
    /// - Returns: the bytes of the files before and after.
    package func run(progress: (_ shard: Int, _ count: Int) -> Void) throws -> (before: Int64, after: Int64) {
        let shards = try compaction.shards()
        var sum: (before: Int64, after: Int64) = (0, 0)
        for shard in shards {
            progress(shard, shards.count)
            let (before, after) = try compaction.run(shard: shard)
            sum = (sum.before + before, sum.after + after)
        }
        return sum
    }

    /// Removes what an interrupted run has left.
    package static func removeUnfinished(_ directory: DataDirectory) { Compaction.removeUnfinished(directory) }
}
