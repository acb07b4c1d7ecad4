package import Commands

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

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

/// Work on the usable shards of a store. A shard that is damaged, foreign or missing must not stop the
/// others.
extension ShardedStore {
    /// Runs `body`, which uses one shard.
    /// - Returns: nil where the shard is unusable (``StoreError/Code/makesShardUnusable``).
    @discardableResult
    package func ifUsable<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.code.makesShardUnusable else { throw error }
            return nil
        }
    }

    /// Reads one value of every shard, in the order of the shards. An unusable shard gives `fallback`.
    /// - Throws: the error of the first shard, where every shard is unusable.
    package func mapShards<Value>(
        or fallback: Value, _ read: (_ shard: Int) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        var values: [Value] = []
        var errors: [StoreError] = []
        for shard in 0..<shardCount {
            do throws(StoreError) {
                values.append(try read(shard))
            } catch {
                guard error.code.makesShardUnusable else { throw error }
                values.append(fallback)
                errors.append(error)
            }
        }
        if errors.count == shardCount, let first = errors.first { throw first }
        return values
    }
}

/// The shards of a store whose writes may share a commit. In SQLite a shard is a file, and each is a group of its own.
/// Only commits are shared: locks, reads and the order of transitions belong to a shard.
package struct CommitGroup: Sendable, Hashable, CustomStringConvertible {
    /// Its position in ``ShardedStore/commitGroups``.
    package let index: Int
    package let shards: Range<Int>

    package init(_ index: Int, shards: Range<Int>) {
        self.index = index
        self.shards = shards
    }

    /// The number of its shard, or those of the first and the last: “0–7”.
    package var description: String {
        shards.count == 1 ? "\(shards.lowerBound)" : "\(shards.lowerBound)–\(shards.upperBound - 1)"
    }

    /// The shard of a group that has one.
    /// - Throws: `invalid` for a group of several.
    func onlyShard() throws(StoreError) -> Int {
        if shards.count == 1 { return shards.lowerBound }
        throw StoreError(.invalid, "The writes of the shards \(self) cannot share a commit in this store.")
    }
}

extension ShardedStore {
    /// Each shard commits alone.
    package func commitGroup(of shard: Int) -> CommitGroup { CommitGroup(shard, shards: shard..<shard + 1) }

    /// All groups, in the order of their shards. Each shard is in one of them.
    package var commitGroups: [CommitGroup] {
        (0..<shardCount).map { commitGroup(of: $0) }.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}

/// The outcomes of one commit of a ``CommitGroup``, one for each write and in their order, and its effects on other commands.
package struct CommitOutcome: Sendable, Equatable, RandomAccessCollection {
    private let outcomes: [ExecutionOutcome]
    /// On commands that the writes do not name.
    package let effects: Effects

    package init(_ outcomes: [ExecutionOutcome], _ effects: Effects = Effects()) {
        self.outcomes = outcomes
        self.effects = effects
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { outcomes.count }
    package subscript(position: Int) -> ExecutionOutcome { outcomes[position] }
}

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

/// The random numbers of the system, 32 with each system call: a call for each number would cost more than
/// the id that needs it.
struct BufferedRandom: RandomNumberGenerator {
    private var words: [UInt64] = []

    mutating func next() -> UInt64 {
        if words.isEmpty { refill() }
        return words.removeLast()
    }

    private mutating func refill() {
        words = [UInt64](unsafeUninitializedCapacity: 32) { buffer, count in
            count = 32
            if let start = buffer.baseAddress, getentropy(start, 256) == 0 { return }
            // A kernel without getentropy(3): the generator of the standard library knows another way.
            var system = SystemRandomNumberGenerator()
            for index in 0..<32 { buffer.initializeElement(at: index, to: system.next()) }
        }
    }
}
