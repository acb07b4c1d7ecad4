internal import Commands
internal import Host

/// One shard of a ``MemoryStore``: the tables and indices of ``Schema`` as dictionaries. ``StoredCommand``
/// has the rules.
struct MemoryShard {
    let number: Int
    private(set) var rows: [CommandID: StoredCommand] = [:]
    private(set) var ids: [Int64: CommandID] = [:]
    private(set) var payloads: [CommandID: [UInt8]] = [:]
    var results: [CommandID: [UInt8]] = [:]
    /// The checkpoints that executions left.
    var checkpoints: [CommandID: [UInt8]] = [:]
    /// When the remains of commands that have ended may be removed.
    var leftovers: [CommandID: Timestamp] = [:]
    private(set) var transitions: [Transition] = []
    private(set) var counts = CommandCounts()
    var sessions: [Session] = []
    /// The setting of the store.
    var clockHold: ClockHold?
    var isClockHeld: Bool { clockHold?.stands(now: .now) ?? false }
    private var ready: [ReadyKey: [Int64: CommandID]] = [:]
    /// The commands that became ready after later ones.
    private var readyAgain: Set<CommandID> = []
    private var heldBack: Set<CommandID> = []
    private var deadlines: Set<CommandID> = []
    private var inFlight: Set<CommandID> = []
    /// The commands that hold unique keys.
    private var holders: [UniqueKey: CommandID] = [:]
    private(set) var seq: Int64 = 0
    private(set) var turn: Int64 = 0
    /// Of the running transaction.
    var changes = TransactionChanges()
    private var isInTransaction = false
    /// Effects on other commands than those that the calls have named, since ``takeEffects()``.
    private var effects = Effects()
    var nodes: [Int64: NodeRow] = [:]
    var dependants: [Int64: [Int64: DependencyRow]] = [:]
    var parents: [Int64: Set<Int64>] = [:]
    var flows: [Int64: FlowRow] = [:]
    var cascades: [CascadeRow] = []
    var lanes: [String: LaneRow] = [:]
    var schedules: [String: StoredSchedule] = [:]
    var waiters: [String: Set<Int64>] = [:]
    var messages = MemoryMessages()
    var uploads: [CommandID: Upload] = [:]
    var uploadBodies: [CommandID: [UInt8]] = [:]

    init(number: Int) { self.number = number }

    // MARK: Changes

    /// Inserts a draft, unless a command holds its unique key.
    mutating func insert(
        _ draft: CommandDraft, digest: [UInt8]?, id: CommandID, remote: [RemoteDependency] = [], now: Timestamp
    ) -> Result<Submission, StoreError> {
        if let unique = draft.unique, let holder = holder(of: unique, at: now) {
            guard holder.digest == digest else { return .failure(holder.conflict(over: unique.key)) }
            return .success(Submission(id: holder.id, isExisting: true))
        }
        let submitted = draft
        var draft = draft
        if let batch = draft.batch {
            guard let part = part(of: batch), part.state == .open else {
                return .failure(.cannotJoin(batch, part(of: batch)))
            }
            draft.qos = max(draft.qos, part.minQoS ?? draft.qos)
        }
        if !draft.dependencies.isEmpty || draft.orderingKey != nil {
            return insert(related: draft, digest: digest, id: id, remote: remote, now: now)
                .with(draft.qos, for: submitted)
        }
        turn += 1
        insert(StoredCommand(draft, digest: digest, id: id, turn: turn, now: now), payload: draft.payload)
        return .success(Submission(id: id, isExisting: false, turn: turn)).with(draft.qos, for: submitted)
    }

    mutating func insert(_ row: StoredCommand, payload: [UInt8]) {
        var row = row
        turn = max(turn, row.command.turn)
        payloads[row.id] = payload
        ids[row.command.turn] = row.id
        transact(&row) { $0.recordCreation(&$1) }
    }

    /// The command that holds a unique key; nil where the key is free. A command whose period has lapsed
    /// gives the key up here.
    mutating func holder(of unique: UniqueKey, at now: Timestamp) -> UniqueKeyHolder? {
        guard let id = holders[unique], var row = rows[id] else { return nil }
        let holder = UniqueKeyHolder(
            id: id, turn: row.command.turn, digest: row.digest, period: row.command.uniqueFor,
            submittedAt: row.command.createdAt)
        guard holder.hasLapsed(at: now), !isClockHeld else { return holder }
        row.keyIsFree = true
        replace(id, by: row)
        return nil
    }

    /// Changes a row, and adds the transitions that `body` records.
    /// - Returns: nil where there is no such row.
    mutating func change<Value>(
        _ id: CommandID, _ body: (inout StoredCommand, inout TransactionChanges) -> Value
    ) -> Value? {
        guard var row = rows[id] else { return nil }
        return transact(&row, body)
    }

    @discardableResult
    private mutating func transact<Value>(
        _ row: inout StoredCommand, _ body: (inout StoredCommand, inout TransactionChanges) -> Value
    ) -> Value {
        transaction { shard in
            var changes = shard.changes
            let value = body(&row, &changes)
            shard.changes = changes
            shard.store(row)
            return value
        }
    }

    /// Runs `body` in one transaction: the effects on other commands are written at its end. A transaction within another
    /// is a part of it.
    mutating func transaction<Value, Failure: Error>(
        _ body: (inout MemoryShard) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        if isInTransaction { return try body(&self) }
        isInTransaction = true
        changes.begin(after: seq)
        defer {
            isInTransaction = false
            if let now = changes.relatedAt {
                settle(now: now, limit: Settlements<MemoryShard>.limit) { settlements throws(StoreError) in
                    try settlements.run()
                }
            }
            flush()
        }
        return try body(&self)
    }

    /// Goes on with effects that earlier transactions have left.
    mutating func settlePostponed(now: Timestamp, limit: Int) {
        changes.begin(after: seq)
        settle(now: now, limit: limit) { settlements throws(StoreError) in try settlements.runPostponed() }
        flush()
    }

    /// Takes in messages of other shards.
    mutating func receive(_ messages: [ShardMessage], now: Timestamp) {
        changes.begin(after: seq)
        settle(now: now, limit: Settlements<MemoryShard>.limit) { settlements throws(StoreError) in
            try settlements.receive(messages)
        }
        flush()
    }

    private mutating func settle(
        now: Timestamp, limit: Int, _ body: (inout Settlements<MemoryShard>) throws(StoreError) -> Void
    ) {
        // Moved, so that the dictionaries are not copied.
        let number = number
        let shard = exchange(&self, with: MemoryShard(number: number))
        var settlements = Settlements(shard, shard: number, now: now, limit: limit)
        // No read or write in memory fails.
        try? body(&settlements)
        let made = settlements.effects
        self = settlements.rows
        effects.append(made)
    }

    /// Ends the transaction.
    private mutating func flush() {
        seq = changes.newestSeq
        transitions += changes.entries.map(\.transition)
        for status in CommandStatus.allCases {
            for qos in QualityOfService.allCases {
                let change = changes.countChanges[TransactionChanges.cell(status, qos)]
                if change != 0 { counts[status, qos] += change }
            }
        }
    }

    mutating func takeEffects() -> Effects { exchange(&effects, with: Effects()) }

    mutating func store(_ row: StoredCommand) {
        switch row.command.status {
        case .cancelled, .tooManyTimes: if rows[row.id]?.newestSeq != row.newestSeq { recordLeftover(of: row.command) }
        default: leftovers[row.id] = nil
        }
        if row.isReady, rows[row.id] != nil { readyAgain.insert(row.id) }
        replace(row.id, by: row)
    }

    /// Records that a command has ended, if it has a checkpoint.
    mutating func recordLeftover(of command: Command) {
        if checkpoints[command.id]?.isEmpty == false { leftovers[command.id] = Leftover.due(command) }
    }

    mutating func delete(_ ids: Set<CommandID>) {
        for id in ids {
            guard let row = rows[id] else { continue }
            counts[row.command.status, row.command.qos] -= 1
            replace(id, by: nil)
            payloads[id] = nil
            results[id] = nil
            checkpoints[id] = nil
            leftovers[id] = nil
            removeRelations(of: row.command.turn)
        }
        transitions.removeAll { ids.contains($0.id) }
    }

    /// Replaces a row and updates the dictionaries that serve as indices.
    private mutating func replace(_ id: CommandID, by row: StoredCommand?) {
        if let old = rows[id] {
            if old.isReady { ready[old.readyKey]?[old.command.turn] = nil }
            if ready[old.readyKey]?.isEmpty == true { ready[old.readyKey] = nil }
            if let unique = old.unique { holders[unique] = nil }
        }
        if row == nil, let old = rows[id] { ids[old.command.turn] = nil }
        rows[id] = row
        heldBack.remove(id)
        deadlines.remove(id)
        inFlight.remove(id)
        guard let row else { return }
        if row.isReady { ready[row.readyKey, default: [:]][row.command.turn] = id }
        if let unique = row.unique { holders[unique] = id }
        if row.command.notBefore != .zero { heldBack.insert(id) }
        if row.openDeadline != nil { deadlines.insert(id) }
        if row.command.status.isClaimed { inFlight.insert(id) }
    }

    // MARK: Reading

    var readyKeys: Set<ReadyKey> { Set(ready.keys) }

    /// By rate limit.
    var readyCounts: [String: Int] {
        ready.reduce(into: [:]) { counts, queue in
            if let limit = queue.key.limit { counts[limit, default: 0] += queue.value.count }
        }
    }

    func ready(_ key: ReadyKey, after turn: Int64, limit: Int) -> [ReadyCommand] {
        let turns = ready[key, default: [:]].filter { $0.key > turn }.sorted { $0.key < $1.key }
        return turns.prefix(max(limit, 0)).compactMap { rows[$0.value]?.ready }
    }

    /// The commands of a queue, the first one first.
    func waiting(_ name: WaitingQueue.Name) -> [Command] {
        func ready(_ isOfQueue: (ReadyKey) -> Bool) -> [Command] {
            let ids = self.ready.filter { isOfQueue($0.key) }.flatMap(\.value.values)
            return ids.compactMap { rows[$0]?.command }.sorted { left, right in
                if left.destination != right.destination { return left.destination.text < right.destination.text }
                return left.qos == right.qos ? left.turn < right.turn : left.qos > right.qos
            }
        }
        return switch name {
        case .destination(let destination): ready { $0.destination == destination && $0.limit == nil }
        case .limit(let limit): ready { $0.limit == limit }
        case .notBefore: heldBackRows.map(\.command)
        }
    }

    /// The caller has told of the command.
    mutating func forgetReadyAgain(_ id: CommandID) { readyAgain.remove(id) }

    /// Takes commands that became ready after later ones, in the order of their turns.
    var hasReadyAgain: Bool { !readyAgain.isEmpty }

    mutating func takeReadyAgain(limit: Int) -> [ReadyCommand] {
        let taken = readyAgain.sorted { (rows[$0]?.command.turn ?? 0) < (rows[$1]?.command.turn ?? 0) }.prefix(limit)
        readyAgain.subtract(taken)
        return taken.compactMap { rows[$0] }.filter(\.isReady).map(\.ready)
    }

    /// Rows that wait for their `notBefore`, the earliest first.
    var heldBackRows: [StoredCommand] {
        heldBack.compactMap { rows[$0] }.sorted { $0.command.notBefore < $1.command.notBefore }
    }

    /// Rows that an execution has left waiting.
    func heldBack(_ type: String, _ destination: Destination) -> [StoredCommand] {
        heldBackRows.filter { row in
            row.command.type == type && row.command.destination == destination && row.command.claim > 0
                && (row.command.status == .new || row.command.status == .error)
                && row.command.notBefore.milliseconds > 1
        }
    }

    /// Rows with an open deadline, the earliest first.
    var withDeadline: [StoredCommand] {
        deadlines.compactMap { rows[$0] }.sorted { ($0.openDeadline ?? .zero) < ($1.openDeadline ?? .zero) }
    }

    var claimed: [StoredCommand] {
        inFlight.compactMap { rows[$0] }.sorted { $0.command.turn < $1.command.turn }
    }

    func claimed(seat: Int, epoch: Int64) -> [StoredCommand] {
        claimed.filter { $0.command.seat == seat && $0.epoch == epoch }
    }
}

extension StoredCommand {
    fileprivate var readyKey: ReadyKey {
        ReadyKey(destination: command.destination, qos: command.qos, limit: command.limit)
    }
}
