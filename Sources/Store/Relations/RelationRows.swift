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

/// The row in `node` of a command that waits for others, or that is a part of a flow.
struct NodeRow: Sendable, Equatable {
    struct Flags: OptionSet, Sendable {
        let rawValue: Int
        /// Its failure counts as a success for those that wait for it, and does not fail its flow.
        static let mayFail = Flags(rawValue: 1)
        /// It was cancelled because the end that it handles did not come, which does not count as a failure.
        static let notNeeded = Flags(rawValue: 2)
        /// All its dependencies are satisfied by any end, so it also runs in a flow that is cancelled.
        static let finalizer = Flags(rawValue: 4)
        /// It runs after its flow, which does not count it.
        static let callback = Flags(rawValue: 8)
        /// It is a flow; `node_open_flow` finds those that have not ended.
        static let flow = Flags(rawValue: 16)

        /// The highest quality of service of a command that waits for this flow or batch: its nodes or members have it or a
        /// higher one. Nil where none waits. In bits 8 to 15, 256 times its number and one.
        var awaitedQoS: QualityOfService? {
            get { QualityOfService(rawValue: (rawValue >> 8 & 0xFF) - 1) }
            set { self = Flags(rawValue: rawValue & ~0xFF00 | (newValue.map { ($0.rawValue + 1) * 256 } ?? 0)) }
        }
    }

    /// Of the command.
    var turn: Int64
    /// The turn of its flow; nil outside of one.
    var flow: Int64?
    /// Its name in the flow.
    var name: String?
    /// Dependencies that are not satisfied. Of a flow: nodes that have not ended.
    var pending: Int
    var flags: Flags = []
    /// The turn of the parent whose end cancelled it.
    var cause: Int64?
}

/// A row of `dependency`. A turn names a command.
struct DependencyRow: Sendable, Equatable {
    enum State: Int, Sendable {
        /// The parent has not ended.
        case open = 0
        /// It stays so, also where the parent is retried.
        case satisfied = 1
        /// The parent's end does not satisfy the condition.
        case unsatisfiable = 2
    }

    var parent: Int64
    var child: Int64
    var condition: DependencyCondition
    var state: State
}

/// The end of a parent, as its dependants see it.
enum ParentOutcome: Sendable {
    case success
    /// `tooManyTimes` or `cancelled`.
    case failed(mayFail: Bool)
    /// Cancelled because the end that it handles did not come.
    case notNeeded

    /// Nil for a command that has not ended. One in doubt has not.
    init?(_ status: CommandStatus, _ flags: NodeRow.Flags) {
        switch status {
        case .success: self = .success
        case .tooManyTimes, .cancelled:
            self = flags.contains(.notNeeded) ? .notNeeded : .failed(mayFail: flags.contains(.mayFail))
        case .new, .queued, .sent, .error, .blocked, .inDoubt: return nil
        }
    }

    func satisfies(_ condition: DependencyCondition) -> Bool {
        switch (self, condition) {
        case (_, .end), (.success, .success), (.failed, .failure), (.failed(mayFail: true), .success): true
        case (.success, .failure), (.failed, .success), (.notNeeded, _): false
        }
    }

    /// Whether a child whose condition is not satisfied was not needed; otherwise it could not run.
    func makesUnneeded(_ condition: DependencyCondition) -> Bool {
        switch self {
        case .success, .notNeeded: true
        case .failed: false
        }
    }
}

/// The row in `flow` of a flow. Its node row counts the nodes that have not ended.
struct FlowRow: Sendable, Equatable {
    var turn: Int64
    /// Without callbacks.
    var nodes: Int
    /// Nodes that have ended in `tooManyTimes` or `cancelled`, may not fail, and were needed.
    var failed: Int
    /// The turn of the first of them.
    var firstFailed: Int64?
    /// The failure of a node cancels the others.
    var stopsOnFailure: Bool
}

/// A row of `lane`: an ordering key that a command holds or waits for. A key that none uses has no row.
struct LaneRow: Sendable, Equatable {
    var key: String
    /// Commands that may hold the key at once: 1 or more. The newest submit sets it.
    var limit: Int
    /// Commands that hold it.
    var open: Int
    /// The turn of the command that got it last.
    var holder: Int64?
}

/// A row of `cascade`: effects on other commands that are still to be written, because one transaction changes a bounded
/// number of rows.
struct CascadeRow: Sendable, Equatable {
    enum Step: Int, Sendable {
        /// The command has ended: its dependants are settled.
        case settle = 0
        /// The flow is cancelled: its nodes are.
        case cancel = 1
        /// The flow is retried: its failed nodes are.
        case retry = 2
        /// The command is not ended any more: what its failure cancelled waits again.
        case reopen = 3
        /// The command has ended: its dependants in other shards are told.
        case notify = 4
        /// The members of a batch are cancelled. The turn is the number of their part.
        case cancelPart = 5
        /// A blocked command has a higher quality of service: the commands that it depends on get it.
        case raiseParents = 6
        /// As ``raiseParents``, for the nodes of a flow.
        case raiseNodes = 7
        /// As ``raiseParents``, for the commands before it in the queue of its ordering key.
        case raiseLane = 8
        /// As ``raiseParents``, for the members of a batch. The turn is the number of their part.
        case raiseMembers = 9

        var isRaise: Bool {
            switch self {
            case .raiseParents, .raiseNodes, .raiseLane, .raiseMembers: true
            case .settle, .cancel, .retry, .reopen, .notify, .cancelPart: false
            }
        }
    }

    /// The turn of the command that causes the effects.
    var turn: Int64
    var step: Step
    /// The turn of the last command that was changed.
    var after: Int64
}
