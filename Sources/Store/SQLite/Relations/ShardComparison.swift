internal import Commands

/// Connections to the shards of one store.
protocol ShardAccess {
    var shardCount: Int { get }
    /// Runs `body`, which only reads, in one transaction.
    /// - Returns: nil where the shard cannot be used.
    func read<Value>(
        shard: Int, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value?
    /// Runs `body` in one transaction, durable when this returns.
    func write(shard: Int, _ body: (Connection) throws(StoreError) -> Void) throws(StoreError)
}

/// Finds what the shards of a store owe each other (``ShardDebts``).
///
/// Each shard is read in a transaction of its own, so that a message which is carried meanwhile may look like a debt.
struct ShardComparison<Access: ShardAccess> {
    private let access: Access
    private(set) var result = ShardDebts()

    init(_ access: Access) { self.access = access }

    mutating func run() throws(StoreError) {
        for shard in 0..<access.shardCount {
            let rows = try access.read(shard: shard) { connection throws(StoreError) in
                try WaitingRows(connection)
            }
            guard let rows else { continue }
            try compareDependencies(of: rows)
            try compareMembers(of: rows, in: shard)
        }
    }

    /// Posts what the shards owe.
    func post(_ debts: Set<ShardDebt>) throws(StoreError) {
        for (shard, owed) in Dictionary(grouping: debts, by: \.shard).sorted(by: { $0.key < $1.key }) {
            try access.write(shard: shard) { connection throws(StoreError) in
                var rows = connection
                for debt in owed.sorted(by: { $0.command < $1.command }) { try rows.post(debt) }
            }
        }
    }

    // MARK: Commands

    private mutating func compareDependencies(of home: WaitingRows) throws(StoreError) {
        let count = access.shardCount
        var batches: [CommandID: [BatchStanding]] = [:]
        for (shard, waiting) in Dictionary(grouping: home.waiting, by: { $0.parent.shard(of: count) })
            .sorted(by: { $0.key < $1.key })
        {
            let standings = try access.read(shard: shard) { connection throws(StoreError) in
                try ParentStanding.all(of: waiting, connection)
            }
            for (row, standing) in zip(waiting, standings ?? []) {
                if row.isBatch {
                    batches[row.child, default: []].append(BatchStanding(row: row, shard: shard, standing: standing))
                } else {
                    compare(row, standing, home)
                }
            }
        }
        for (batch, parts) in batches { compare(batch, parts, home) }
    }

    private mutating func compare(_ row: WaitingRow, _ standing: ParentStanding, _ home: WaitingRows) {
        let isOwed: Bool
        switch standing {
        case .unknown(let isTold):
            if row.state == .open, row.status == .blocked {
                result.lostParents.insert(LostParent(child: row.child, parent: row.parent))
            }
            isOwed = row.state == .open && !isTold
        case .notEnded(let isWatched): isOwed = !isWatched
        case .ended(let outcome, let isTold):
            isOwed = !isTold && (row.state == .open || outcome.satisfies(row.condition))
        case .part: isOwed = false
        }
        guard isOwed, !home.asked.contains(Pair(row.parent, row.child)) else { return }
        result.debts.insert(
            ShardDebt(
                kind: .question, shard: row.child.shard(of: access.shardCount), command: row.child, parent: row.parent))
    }

    // MARK: Batches

    private struct BatchStanding {
        var row: WaitingRow
        var shard: Int
        var standing: ParentStanding
    }

    /// - Parameter parts: those that have not told their end.
    private mutating func compare(_ batch: CommandID, _ parts: [BatchStanding], _ home: WaitingRows) {
        // A seal goes from shard to shard, and a part ends and is removed only after it. A shard without a part that has no
        // members may be a copy of before the batch.
        let isSealed =
            home.batchesWithEnds.contains(batch)
            || parts.contains {
                guard case .part(let part, _, let hasMembers) = $0.standing else { return false }
                return part.map { $0.state != .open } ?? hasMembers
            }
        for part in parts {
            guard case .part(let stored, let isTold, _) = part.standing else { continue }
            let isCancelled = part.row.isCancelRequested
            let kind: ShardDebt.Kind
            switch stored?.state {
            case nil, .ended?:
                guard !isTold else { continue }
                kind = .partEnd(isSealed: isSealed || isCancelled)
            case .open? where isCancelled, .sealed? where isCancelled:
                guard !home.cancellations.contains(Pair(part.row.parent, batch)) else { continue }
                kind = .cancellation
            case .open?:
                guard isSealed else { continue }
                kind = .seal
            case .sealed?, .cancelled?: continue
            }
            let poster = kind == .cancellation ? batch.shard(of: access.shardCount) : part.shard
            result.debts.insert(ShardDebt(kind: kind, shard: poster, command: batch, parent: part.row.parent))
        }
    }

    /// The members of a batch that has ended, or that its shard does not know: no producer can seal it.
    private mutating func compareMembers(of home: WaitingRows, in shard: Int) throws(StoreError) {
        let count = access.shardCount
        for (target, batches) in Dictionary(grouping: home.openBatches, by: { $0.shard(of: count) }) {
            let unknown = try access.read(shard: target) { connection throws(StoreError) in
                var unknown: [CommandID] = []
                for batch in batches where try connection.find(batch)?.command.status.isEnd ?? true {
                    unknown.append(batch)
                }
                return unknown
            }
            for batch in unknown ?? [] {
                result.debts.insert(
                    ShardDebt(kind: .seal, shard: shard, command: batch, parent: batch.part(in: shard)))
            }
        }
    }
}

/// A message, as both ends know it.
private struct Pair: Hashable {
    var receiver: CommandID
    var sender: CommandID

    init(_ receiver: CommandID, _ sender: CommandID) {
        self.receiver = receiver
        self.sender = sender
    }
}

/// A dependency on a command, or on a part of a batch, that is not satisfied.
private struct WaitingRow {
    var child: CommandID
    var status: CommandStatus
    var isBatch: Bool
    var isCancelRequested: Bool
    var parent: CommandID
    var condition: DependencyCondition
    var state: DependencyRow.State
}

/// The rows and messages of a shard that waits for others, at one moment.
private struct WaitingRows {
    var waiting: [WaitingRow] = []
    /// Questions that are still to be carried.
    var asked: Set<Pair> = []
    /// Cancellations of parts that are still to be carried.
    var cancellations: Set<Pair> = []
    /// Batches that were told of the end of a part.
    var batchesWithEnds: Set<CommandID> = []
    /// Batches that have members in this shard, and whose part is not sealed.
    var openBatches: [CommandID] = []

    init(_ connection: Connection) throws(StoreError) {
        guard connection.version >= Schema.firstWithRelations else { return }
        let batch = CommandRelations.batch.rawValue
        waiting = try Statement(
            """
            SELECT c.id, c.status, c.relations & \(batch), c.cancel_requested, d.parent, d.condition, d.state
            FROM remote_dependency d JOIN command c ON c.turn = d.child WHERE d.state <> 1 AND c.status IN (5, 6)
            """, sharing: connection
        ).rows { row throws(StoreError) in
            WaitingRow(
                child: try row.id(0), status: try row.status(1), isBatch: row.bool(2), isCancelRequested: row.bool(3),
                parent: try row.id(4), condition: try row.condition(5), state: try row.dependencyState(6))
        }
        batchesWithEnds = try Set(
            Statement(
                """
                SELECT DISTINCT c.id FROM remote_dependency d JOIN command c ON c.turn = d.child
                WHERE d.state = 1 AND c.status = 6 AND c.relations & \(batch)
                """, sharing: connection
            ).rows { row throws(StoreError) in try row.id(0) })
        openBatches = try Statement(
            "SELECT batch FROM batch_part WHERE state & 255 = \(BatchPart.State.open.rawValue) AND members > 0",
            sharing: connection
        ).rows { row throws(StoreError) in try row.id(0) }
        try connection.forEachMessage { message in
            let pair = Pair(message.receiver, message.sender)
            switch message.content {
            case .awaits: asked.insert(pair)
            case .cancelPart: cancellations.insert(pair)
            case .raisePart: break
            case .ended, .partEnded: break
            }
        }
    }
}

/// A parent, as its shard knows it.
private enum ParentStanding {
    /// - Parameter isTold: its end is still to be carried.
    case unknown(isTold: Bool)
    /// - Parameter isWatched: the shard will tell its end.
    case notEnded(isWatched: Bool)
    case ended(ParentOutcome, isTold: Bool)
    /// - Parameter hasMembers: the shard has members of the batch.
    case part(BatchPart?, isTold: Bool, hasMembers: Bool)

    /// The standings of the parents of some rows, in their order.
    static func all(of waiting: [WaitingRow], _ connection: Connection) throws(StoreError) -> [ParentStanding] {
        guard connection.version >= Schema.firstWithRelations else { return [] }
        var told: Set<Pair> = []
        try connection.forEachMessage { message in
            switch message.content {
            case .ended, .partEnded: told.insert(Pair(message.receiver, message.sender))
            case .awaits, .cancelPart, .raisePart: break
            }
        }
        var standings: [ParentStanding] = []
        for row in waiting {
            let isTold = told.contains(Pair(row.child, row.parent))
            standings.append(
                row.isBatch
                    ? .part(
                        try connection.part(of: row.child), isTold: isTold,
                        hasMembers: try !connection.members(of: row.child, after: 0, limit: 1).isEmpty)
                    : try ParentStanding(row, isTold: isTold, connection))
        }
        return standings
    }

    private init(_ row: WaitingRow, isTold: Bool, _ connection: Connection) throws(StoreError) {
        guard let parent = try connection.find(row.parent) else {
            self = .unknown(isTold: isTold)
            return
        }
        let turn = parent.command.turn
        guard let outcome = ParentOutcome(parent.command.status, try connection.node(turn)?.flags ?? []) else {
            self = .notEnded(
                isWatched: try connection.statement(.remoteDependantNumber, turn, row.child).hasRow())
            return
        }
        // A cascade is still to write the message.
        let isSettling = try connection.cascade(of: turn, .notify) != nil
        self = .ended(outcome, isTold: isTold || isSettling)
    }
}

extension Connection {
    fileprivate func forEachMessage(_ body: (ShardMessage) -> Void) throws(StoreError) {
        var number: Int64 = 0
        while true {
            let page = try outbox(after: number, limit: 1000)
            guard let last = page.last else { return }
            number = last.number
            for message in page { body(message) }
        }
    }

    /// Runs `body`, which only reads, in one transaction.
    func snapshot<Value>(_ body: (Connection) throws(StoreError) -> Value) throws(StoreError) -> Value {
        try execute("BEGIN")
        defer { rollback() }
        return try body(self)
    }
}

extension SQLiteStore {
    package func debts() throws(StoreError) -> ShardDebts {
        let first = try compare()
        return first.isEmpty ? first : first.intersection(try compare())
    }

    package func post(_ debts: ShardDebts) throws(StoreError) { try ShardComparison(self).post(debts.debts) }

    private func compare() throws(StoreError) -> ShardDebts {
        var comparison = ShardComparison(self)
        try comparison.run()
        return comparison.result
    }
}

extension SQLiteStore: ShardAccess {
    func read<Value>(
        shard number: Int, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        try ifUsable { () throws(StoreError) in
            try shard(number).withOwnConnection { connection throws(StoreError) in try connection.snapshot(body) }
        }
    }

    func write(shard number: Int, _ body: (Connection) throws(StoreError) -> Void) throws(StoreError) {
        try shard(number).write { connection throws(StoreError) in try body(connection) }
    }
}
