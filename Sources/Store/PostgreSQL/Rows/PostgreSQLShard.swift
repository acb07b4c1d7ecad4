internal import Commands

/// A shard within a transaction: the rows that it has read, and what it has changed in them.
///
/// The rows of commands are written together, at the latest at the end of the transaction. Those of relations are added to the
/// next round trip at once, so that every read sees them.
final class PostgreSQLShard {
    let number: Int
    let transaction: PostgreSQLTransaction
    let shardCount: Int
    private let clockTrust: ClockTrust
    var changes = TransactionChanges()
    /// The last turn that was given.
    private(set) var turn: Int64
    private var commands: [CommandID: Entry] = [:]
    /// Those that are to be written, in the order of their first change.
    private var changed: [CommandID] = []
    /// Ids by turns.
    private var ids: [Int64: CommandID] = [:]
    /// The commands that hold unique keys; nil for a key that none holds.
    private var holders: [UniqueKey: CommandID?] = [:]
    private var leftovers: [Command] = []
    /// Commands that become ready, of which the call tells.
    private var promoted: Set<CommandID> = []
    typealias ReadyTurn = (shard: Int, key: ReadyKey, turn: Int64)
    /// Commands that became ready out of their turn.
    private(set) var readyAgain: [ReadyTurn] = []

    // Rows of relations; nil where there is none.
    var nodes: [Int64: NodeRow?] = [:]
    var flows: [Int64: FlowRow?] = [:]
    var lanes: [String: LaneRow?] = [:]
    var parts: [CommandID: BatchPart?] = [:]
    /// By parent.
    var knownDependants: [Int64: KnownRange<DependencyRow>] = [:]
    /// By ordering key: whether no command that waits has a turn up to the holder's.
    var orderedKeys: [String: Bool] = [:]
    /// By ordering key: the row as the tables have it.
    var storedLanes: [String: StoredLane] = [:]
    /// By ordering key: the first waiter, where it was read after the last change.
    var firstWaiters: [String: Int64?] = [:]
    /// By ordering key: turns.
    var knownWaiters: [String: KnownRange<Int64>] = [:]
    var knownTails: [String: KnownTail] = [:]
    /// The shard has no cascade, and had none.
    var hasNoCascade = false

    private struct Entry {
        /// As the tables have it; nil for a new command.
        var stored: StoredCommand?
        /// Nil where there is no such command.
        var current: StoredCommand?
        /// Of a new command.
        var payload: [UInt8] = []
        var isChanged = false
    }

    /// - Parameter newest: the number of the newest transition. Turns are given behind it too: a command has a turn that is not
    ///   above the number of its first transition, so that neither is given twice.
    init(
        _ number: Int, of shardCount: Int, _ transaction: PostgreSQLTransaction, newest: Int64, clockTrust: ClockTrust
    ) {
        self.number = number
        self.transaction = transaction
        self.shardCount = shardCount
        self.clockTrust = clockTrust
        turn = newest
        changes.begin(after: newest)
    }

    func newTurn() -> Int64 {
        turn += 1
        return turn
    }

    // MARK: Reading

    /// Takes in the result of a read.
    /// - Parameter ids: that were looked for.
    func know(_ ids: [CommandID], _ rows: [StoredCommand]) {
        for id in ids where commands[id] == nil { commands[id] = Entry() }
        for row in rows where commands[row.id]?.current == nil {
            commands[row.id] = Entry(stored: row, current: row)
            self.ids[row.command.turn] = row.id
        }
    }

    /// The ordering key of a command that was read.
    func knownKey(turn: Int64) -> String? { ids[turn].flatMap { commands[$0]?.current?.key } }

    /// Reads commands in one round trip.
    func load(_ wanted: [CommandID]) throws(StoreError) {
        let unknown = wanted.filter { commands[$0] == nil }
        guard !unknown.isEmpty else { return }
        let rows = try transaction.read(CommandSQL.byID, unknown).rows { row throws(StoreError) in
            try StoredCommand(row)
        }
        know(unknown, rows)
    }

    func command(_ id: CommandID) throws(StoreError) -> StoredCommand? {
        if let known = commands[id] { return known.current }
        try load([id])
        return commands[id]?.current
    }

    func command(turn: Int64) throws(StoreError) -> StoredCommand? {
        if let id = ids[turn] { return try command(id) }
        let rows = try transaction.read(CommandSQL.byTurn, number, turn).rows { row throws(StoreError) in
            try StoredCommand(row)
        }
        know([], rows)
        return try rows.first.flatMap { row throws(StoreError) in try command(row.id) }
    }

    // MARK: Changes

    /// Saves a row that was read in this transaction.
    func save(_ row: StoredCommand) {
        guard var entry = commands[row.id] else { return }
        entry.current = row
        if !entry.isChanged { changed.append(row.id) }
        entry.isChanged = true
        commands[row.id] = entry
        if row.keyIsFree, let key = row.command.uniqueKey {
            let unique = UniqueKey(type: row.command.type, orderingKey: row.command.orderingKey ?? "", key: key)
            if holders[unique] == .some(.some(row.id)) { holders[unique] = .some(nil) }
        }
    }

    func saveRelations(_ command: StoredCommand) throws(StoreError) {
        guard var row = try self.command(command.id) else { return }
        row.relations = command.relations
        save(row)
    }

    /// Saves a row that becomes ready, of which the call tells.
    func promote(_ row: StoredCommand) {
        promoted.insert(row.id)
        save(row)
    }

    /// Inserts a new command, whose first transition is recorded here.
    func insert(_ row: StoredCommand, payload: [UInt8]) {
        var row = row
        row.recordCreation(&changes)
        turn = max(turn, row.command.turn)
        commands[row.id] = Entry(stored: nil, current: row, payload: payload, isChanged: true)
        changed.append(row.id)
        ids[row.command.turn] = row.id
        if let unique = row.unique { holders[unique] = row.id }
    }

    /// Records that a command has ended, if it has a checkpoint.
    func recordLeftover(of command: Command) { leftovers.append(command) }

    // MARK: Unique keys

    private static let holder = PostgreSQLStatement(
        "key-holder",
        """
        SELECT t.id FROM taken t WHERE t.type = $1 AND t.ordering_key = $2 AND t.unique_key = $3 LIMIT 1
        """)

    /// The command that holds a unique key; nil where the key is free. A command whose period has lapsed gives the key up
    /// here.
    func holder(of unique: UniqueKey, at now: Timestamp) throws(StoreError) -> UniqueKeyHolder? {
        let id: CommandID?
        if let known = holders[unique] {
            id = known
        } else {
            id = try transaction.read(Self.holder, unique.type, unique.orderingKey, unique.key).first { row in
                row[0] as CommandID
            }
            holders[unique] = .some(id)
        }
        guard let id, var row = try command(id) else { return nil }
        let holder = UniqueKeyHolder(
            id: id, turn: row.command.turn, digest: row.digest, period: row.command.uniqueFor,
            submittedAt: row.command.createdAt)
        guard holder.hasLapsed(at: now), try !isClockHeld() else { return holder }
        row.keyIsFree = true
        save(row)
        return nil
    }

    /// Reads the holders of keys in one round trip.
    func loadHolders(of keys: [UniqueKey]) throws(StoreError) {
        let unknown = Array(Set(keys)).filter { holders[$0] == nil }
        guard !unknown.isEmpty else { return }
        let found = try transaction.read(
            Self.holders, unknown.map(\.type), unknown.map(\.orderingKey), unknown.map(\.key)
        ).rows { row in
            (UniqueKey(type: row[0], orderingKey: row[1], key: row[2]), row[3] as CommandID)
        }
        for key in unknown { holders[key] = .some(nil) }
        for (key, id) in found { holders[key] = .some(id) }
        try load(found.map(\.1))
    }

    private static let holders = PostgreSQLStatement(
        "key-holders",
        """
        SELECT w.type, w.ordering_key, w.unique_key, t.id
        FROM unnest($1::text[], $2::text[], $3::text[]) w(type, ordering_key, unique_key)
        JOIN LATERAL (SELECT id FROM taken t WHERE t.type = w.type AND t.ordering_key = w.ordering_key
            AND t.unique_key = w.unique_key LIMIT 1) t ON true
        """)

    /// See ``ClockHold``. The setting is read on the connection of the transaction.
    func isClockHeld() throws(StoreError) -> Bool {
        clockTrust.isHeld { () throws(StoreError) in
            try transaction.setting(SettingKey.clockHold).flatMap { ClockHold(setting: $0) }
        }
    }

    // MARK: The end of the transaction

    /// Writes the effects on other commands.
    func settle() throws(StoreError) -> Effects {
        guard let now = changes.relatedAt else { return Effects() }
        var settlements = Settlements(self, shard: number, now: now)
        try settlements.run()
        return settlements.effects
    }

    /// Moves what was changed so far to `rows`.
    /// - Parameter isEnd: nothing is changed behind it.
    func flush(into rows: inout RowChanges, isEnd: Bool) {
        for id in changed {
            guard var entry = commands[id], let row = entry.current else { continue }
            if entry.stored != row {
                if entry.stored != nil, StateTable(row) == .ready {
                    readyAgain.append((number, ReadyKey(row), row.command.turn))
                }
                rows.add(
                    row, replacing: entry.stored, payload: entry.payload, shard: number,
                    isPromoted: promoted.contains(id))
            }
            (entry.stored, entry.payload, entry.isChanged) = (row, [], false)
            commands[id] = entry
        }
        changed = []
        for command in leftovers { rows.addLeftover(of: command, shard: number) }
        leftovers = []
        rows.add(&changes, shard: number)
        if isEnd { rows.addCounts(of: changes, shard: number) }
    }

    /// Sends what was changed so far, so that a read of whole tables sees it.
    func flush() throws(StoreError) {
        var rows = RowChanges()
        flush(into: &rows, isEnd: false)
        try rows.write(to: transaction)
    }

    /// Removes a command that was read in this transaction from the counts and from what is known.
    func forget(_ row: StoredCommand) {
        changes.addToCount(-1, row.command.status, row.command.qos)
        commands[row.id] = Entry()
        ids[row.command.turn] = nil
        nodes[row.command.turn] = .some(nil)
        flows[row.command.turn] = .some(nil)
    }
}
