internal import Commands

/// The rows that ``Settlements`` reads and changes within a transaction. Both stores have them.
protocol RelationRows {
    var changes: TransactionChanges { get set }

    mutating func command(turn: Int64) throws(StoreError) -> StoredCommand?
    mutating func command(_ id: CommandID) throws(StoreError) -> StoredCommand?
    /// Saves a command that was read in this transaction.
    mutating func save(_ command: StoredCommand) throws(StoreError)
    /// Saves only ``StoredCommand/relations``.
    mutating func saveRelations(_ command: StoredCommand) throws(StoreError)

    mutating func payload(of id: CommandID) throws(StoreError) -> [UInt8]?
    mutating func result(of id: CommandID) throws(StoreError) -> [UInt8]?

    mutating func node(_ turn: Int64) throws(StoreError) -> NodeRow?
    mutating func save(_ node: NodeRow) throws(StoreError)
    /// All nodes, ascending.
    mutating func nodes(after turn: Int64, limit: Int) throws(StoreError) -> [NodeRow]
    /// The turns of a flow's nodes, callbacks among them, ascending.
    mutating func nodes(of flow: Int64, after turn: Int64, limit: Int) throws(StoreError) -> [Int64]

    /// The dependencies on a parent, by child.
    mutating func dependants(of parent: Int64, after child: Int64, limit: Int) throws(StoreError) -> [DependencyRow]
    mutating func dependencies(of child: Int64) throws(StoreError) -> [DependencyRow]
    /// A part of them, by parent.
    mutating func dependencies(of child: Int64, after parent: Int64, limit: Int) throws(StoreError) -> [DependencyRow]
    mutating func save(_ dependency: DependencyRow) throws(StoreError)

    mutating func flow(_ turn: Int64) throws(StoreError) -> FlowRow?
    mutating func save(_ flow: FlowRow) throws(StoreError)

    mutating func lane(_ key: String) throws(StoreError) -> LaneRow?
    mutating func save(_ lane: LaneRow) throws(StoreError)
    mutating func remove(_ lane: LaneRow) throws(StoreError)
    /// All lanes, in the order of the keys' bytes.
    mutating func lanes(after key: String?, limit: Int) throws(StoreError) -> [LaneRow]
    mutating func addWaiter(_ key: String, _ turn: Int64) throws(StoreError)
    /// - Returns: whether it waited.
    mutating func removeWaiter(_ key: String, _ turn: Int64) throws(StoreError) -> Bool
    mutating func firstWaiter(_ key: String) throws(StoreError) -> Int64?
    mutating func isWaiter(_ key: String, _ turn: Int64) throws(StoreError) -> Bool
    mutating func waiters(_ key: String, before turn: Int64) throws(StoreError) -> Int
    /// Those between two turns, ascending.
    mutating func waiters(
        _ key: String, after first: Int64, before turn: Int64, limit: Int
    ) throws(StoreError) -> [Int64]
    /// The last of them.
    mutating func waiter(_ key: String, nearestBefore turn: Int64) throws(StoreError) -> Int64?
    /// By key: the commands that have not ended and do not wait for it. Reads every command.
    mutating func openByKey() throws(StoreError) -> [String: Int]
    /// The keys that commands wait for and that have no row.
    mutating func keysWithoutLane() throws(StoreError) -> [String]
    /// The turns of blocked commands with an ordering key for which they do not wait, ascending. Flows are among them.
    mutating func blockedHolders() throws(StoreError) -> [Int64]

    mutating func remoteDependencies(of child: Int64) throws(StoreError) -> [RemoteDependencyRow]
    mutating func remoteDependency(of child: Int64, on parent: CommandID) throws(StoreError) -> RemoteDependencyRow?
    /// Inserts or replaces a dependency.
    mutating func save(_ dependency: RemoteDependencyRow) throws(StoreError)
    /// In the order of their numbers.
    mutating func remoteDependants(
        of parent: Int64, after number: Int64, limit: Int
    ) throws(StoreError) -> [RemoteDependantRow]
    /// Inserts a dependant, unless it is there.
    /// - Returns: its number.
    mutating func add(_ dependant: RemoteDependantRow) throws(StoreError) -> Int64
    mutating func remove(_ dependant: RemoteDependantRow) throws(StoreError)
    /// Writes a message into the outbox.
    mutating func post(_ message: ShardMessage) throws(StoreError)

    mutating func part(of batch: CommandID) throws(StoreError) -> BatchPart?
    mutating func part(_ number: Int64) throws(StoreError) -> BatchPart?
    mutating func save(_ part: BatchPart) throws(StoreError)
    /// All parts, ascending.
    mutating func parts(after number: Int64, limit: Int) throws(StoreError) -> [BatchPart]
    /// The turns of the members of a batch in this shard, ascending.
    mutating func members(of batch: CommandID, after turn: Int64, limit: Int) throws(StoreError) -> [Int64]

    /// The next cascade; nil where none is left.
    mutating func cascade() throws(StoreError) -> CascadeRow?
    mutating func cascade(of turn: Int64, _ step: CascadeRow.Step) throws(StoreError) -> CascadeRow?
    /// Inserts or replaces a cascade.
    mutating func save(_ cascade: CascadeRow) throws(StoreError)
    /// Removes the next cascades, which the transaction goes on with.
    mutating func takeCascades(_ maxCount: Int) throws(StoreError) -> [CascadeRow]
    /// The transaction goes on with these, the last one first. Default: nothing is read in advance.
    mutating func prepare(_ next: ArraySlice<CascadeRow>) throws(StoreError)
}

extension RelationRows {
    mutating func prepare(_ next: ArraySlice<CascadeRow>) throws(StoreError) {}
}
