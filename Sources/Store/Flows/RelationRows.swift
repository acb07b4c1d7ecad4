internal import Commands

/// The rows that ``Settlements`` reads and changes within a transaction. Both stores have them.
protocol RelationRows {
    var changes: TransactionChanges { get set }

    mutating func command(turn: Int64) throws(StoreError) -> StoredCommand?
    /// Saves a command that was read in this transaction.
    mutating func save(_ command: StoredCommand) throws(StoreError)

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
    /// By key: the commands that have not ended and do not wait for it. Reads every command.
    mutating func openByKey() throws(StoreError) -> [String: Int]

    /// The next cascade; nil where none is left.
    mutating func cascade() throws(StoreError) -> CascadeRow?
    mutating func cascade(of turn: Int64, _ step: CascadeRow.Step) throws(StoreError) -> CascadeRow?
    /// Inserts or replaces a cascade.
    mutating func save(_ cascade: CascadeRow) throws(StoreError)
    mutating func remove(_ cascade: CascadeRow) throws(StoreError)
}
