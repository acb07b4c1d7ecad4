package import Commands

/// Chooses the shards of new commands, and draws their ids. Pure.
///
/// The last byte of an id names its shard. A key fixes the byte: the ordering key of a command, else its unique key, else
/// its first parent. The commands of a flow share a byte, and so do a batch and its callbacks.
package struct ShardRouter: Sendable {
    package let shardCount: Int

    /// - Parameter shardCount: a power of two from 1 to 256.
    package init(shardCount: Int) { self.shardCount = shardCount }

    /// The shard of a draft with a key or a parent; nil where the draft may go to any.
    package func shard(of draft: CommandDraft) -> Int? { draft.shardByte.map { shard(of: $0) } }

    /// A schedule lies in the shard of the commands that it submits.
    func shard(ofSchedule name: String) -> Int { shard(of: UniqueKey.shardByte(of: name)) }

    /// - Parameter byte: the last byte of an id.
    func shard(of byte: UInt8) -> Int { Int(byte) & (shardCount - 1) }

    /// Draws the id of a command.
    /// - Parameters:
    ///   - byte: of its key; nil for a command that may go to any shard.
    ///   - candidates: whether each shard may have a command without a key; nil: every shard may.
    func newID(
        _ byte: UInt8?, among candidates: [Bool]? = nil, now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> CommandID {
        var id = CommandID(now: now, shardByte: byte, using: &random)
        // Where no shard may have it, the insert reports why.
        guard byte == nil, let candidates, candidates.contains(true) else { return id }
        while !candidates[id.shard(of: shardCount)] { id = CommandID(now: now, shardByte: nil, using: &random) }
        return id
    }

    /// Draws the ids of commands that share a shard.
    /// - Parameters: as of ``newID(_:among:now:using:)``.
    /// - Returns: the ids in ascending order, which is that of the turns: so the indices of ids change page after page.
    func newIDs(
        _ count: Int, _ byte: UInt8? = nil, among candidates: [Bool]? = nil, now: Timestamp,
        using random: inout some RandomNumberGenerator
    ) -> [CommandID] {
        let byte = byte ?? newID(nil, among: candidates, now: now, using: &random).shardByte
        return (0..<count).map { _ in CommandID(now: now, shardByte: byte, using: &random) }.sorted()
    }
}

extension ShardedStore {
    package var router: ShardRouter { ShardRouter(shardCount: shardCount) }
}
