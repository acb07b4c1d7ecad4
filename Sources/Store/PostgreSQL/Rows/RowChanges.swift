internal import Commands

/// The changes of commands that a transaction has gathered, over all its shards, and writes together.
struct RowChanges {
    private var deleted: [StateTable: [CommandID]] = [:]
    private var inserted: [StateTable: StateRows] = [:]
    private var updated: [StateTable: StateRows] = [:]
    private var new = NewCommandRows()
    private var freedKeys: [UniqueKey] = []
    private var takenKeys: [(key: UniqueKey, id: CommandID)] = []
    private var oldAlarms: [(shard: Int, at: Timestamp, id: CommandID)] = []
    private var newAlarms: [(shard: Int, at: Timestamp, id: CommandID)] = []
    private var readyAgain: [(shard: Int, turn: Int64, id: CommandID)] = []
    private var related: [(shard: Int, turn: Int64, id: CommandID)] = []
    private var leftovers: [(shard: Int, due: Timestamp, id: CommandID)] = []
    private var endedLeftovers: [CommandID] = []
    private var transitions: [(shard: Int, entry: TransactionChanges.Entry)] = []
    private var counts: [(shard: Int, status: Int, qos: Int, change: Int)] = []

    /// - Parameters:
    ///   - old: the row as the tables have it; nil for a new command.
    ///   - payload: of a new command.
    ///   - isPromoted: the caller tells of the command, so that no list of ready commands needs it.
    mutating func add(
        _ row: StoredCommand, replacing old: StoredCommand?, payload: [UInt8], shard: Int, isPromoted: Bool
    ) {
        let (id, table) = (row.id, StateTable(row))
        if let old {
            let before = StateTable(old)
            if before == table {
                updated[table, default: StateRows()].append(row, shard: shard)
            } else {
                deleted[before, default: []].append(id)
                inserted[table, default: StateRows()].append(row, shard: shard)
            }
            if table == .ready, !isPromoted { readyAgain.append((shard, row.command.turn, id)) }
            addLeftover(of: row, old, shard: shard)
        } else {
            new.append(row, payload, shard: shard)
            inserted[table, default: StateRows()].append(row, shard: shard)
        }
        if old?.unique != row.unique {
            if let key = old?.unique { freedKeys.append(key) }
            if let key = row.unique { takenKeys.append((key, id)) }
        }
        if old?.openDeadline != row.openDeadline {
            if let at = old?.openDeadline { oldAlarms.append((shard, at, id)) }
            if let at = row.openDeadline { newAlarms.append((shard, at, id)) }
        }
        if !row.relations.isEmpty, old?.relations.isEmpty ?? true { related.append((shard, row.command.turn, id)) }
    }

    /// The end of a command that leaves a checkpoint is recorded; a command that runs again has no leftover.
    private mutating func addLeftover(of row: StoredCommand, _ old: StoredCommand, shard: Int) {
        switch row.command.status {
        case .cancelled, .tooManyTimes:
            if row.newestSeq != old.newestSeq { addLeftover(of: row.command, shard: shard) }
        case .success: break
        case .new, .queued, .sent, .error, .blocked, .inDoubt:
            if old.command.status.isFinal { endedLeftovers.append(row.id) }
        }
    }

    mutating func addLeftover(of command: Command, shard: Int) {
        leftovers.append((shard, Leftover.due(command), command.id))
    }

    mutating func add(_ changes: inout TransactionChanges, shard: Int) {
        transitions += changes.entries.map { (shard: shard, entry: $0) }
        changes.removeEntries()
    }

    /// At the end of the transaction.
    mutating func addCounts(of changes: TransactionChanges, shard: Int) {
        for status in CommandStatus.allCases {
            for qos in QualityOfService.allCases {
                let change = changes.countChanges[TransactionChanges.cell(status, qos)]
                if change != 0 { counts.append((shard, status.rawValue, qos.rawValue, change)) }
            }
        }
    }

    // MARK: Writes

    /// A look-up for each row: a join may be planned as a scan of the whole table. Only a transaction that has locked the shard
    /// changes these rows, so that they stay where they were found.
    private static let freeKeys = PostgreSQLStatement(
        "free-keys",
        """
        DELETE FROM taken WHERE ctid = ANY(ARRAY(
            SELECT t.ctid FROM unnest($1::text[], $2::text[], $3::text[]) w(type, ordering_key, unique_key)
            JOIN LATERAL (SELECT ctid FROM taken x WHERE x.type = w.type AND x.ordering_key = w.ordering_key
                AND x.unique_key = w.unique_key LIMIT 1) t ON true))
        """)
    private static let takeKeys = PostgreSQLStatement(
        "take-keys",
        """
        INSERT INTO taken(type, ordering_key, unique_key, id)
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[])
        """)
    private static let removeAlarms = PostgreSQLStatement(
        "remove-alarms",
        """
        DELETE FROM alarm WHERE ctid = ANY(ARRAY(
            SELECT a.ctid FROM unnest($1::int8[]::int2[], $2::int8[], $3::uuid[]) w(shard, at, id)
            JOIN LATERAL (SELECT ctid FROM alarm x WHERE x.shard = w.shard AND x.at = w.at AND x.id = w.id LIMIT 1) a
            ON true))
        """)
    private static let addAlarms = PostgreSQLStatement(
        "add-alarms",
        """
        INSERT INTO alarm(shard, at, id) SELECT * FROM unnest($1::int8[], $2::int8[], $3::uuid[]) ON CONFLICT DO NOTHING
        """)
    private static let addReadyAgain = PostgreSQLStatement(
        "add-ready-again",
        """
        INSERT INTO ready_again(shard, turn, id) SELECT * FROM unnest($1::int8[], $2::int8[], $3::uuid[])
        ON CONFLICT DO NOTHING
        """)
    private static let addRelated = PostgreSQLStatement(
        "add-related",
        """
        INSERT INTO related(shard, turn, id) SELECT * FROM unnest($1::int8[], $2::int8[], $3::uuid[])
        ON CONFLICT DO NOTHING
        """)
    private static let addLeftovers = PostgreSQLStatement(
        "add-leftovers",
        """
        INSERT INTO leftover(shard, due, id) SELECT w.shard, w.due, w.id
        FROM unnest($1::int8[], $2::int8[], $3::uuid[]) w(shard, due, id)
        JOIN LATERAL (SELECT 1 FROM kept k WHERE k.id = w.id AND length(k.state) > 0 LIMIT 1) k ON true
        ON CONFLICT (id) DO UPDATE SET due = excluded.due
        """)
    private static let removeLeftovers = PostgreSQLStatement(
        "remove-leftovers", "DELETE FROM leftover WHERE id = ANY($1::uuid[])")
    private static let addTransitions = PostgreSQLStatement(
        "add-transitions",
        """
        INSERT INTO transition(shard, seq, id, status, at, seat, claim, reason, previous)
        SELECT * FROM unnest($1::int8[], $2::int8[], $3::uuid[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::text[],
            $9::int8[])
        """)
    private static let addCounts = PostgreSQLStatement(
        "add-counts",
        """
        INSERT INTO count_delta(shard, status, qos, n)
        SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[])
        """)

    /// Adds the statements to a transaction. A key is freed before another command takes it.
    func write(to transaction: PostgreSQLTransaction) throws(StoreError) {
        for table in StateTable.allCases {
            if let ids = deleted[table], let statement = CommandSQL.delete[table] {
                try transaction.write(statement, ids)
            }
        }
        try new.insert(transaction)
        for table in StateTable.allCases {
            try inserted[table]?.insert(into: table, transaction)
            try updated[table]?.update(table, transaction)
        }
        if !freedKeys.isEmpty {
            try transaction.write(
                Self.freeKeys, freedKeys.map(\.type), freedKeys.map(\.orderingKey), freedKeys.map(\.key))
        }
        if !takenKeys.isEmpty {
            try transaction.write(
                Self.takeKeys, takenKeys.map(\.key.type), takenKeys.map(\.key.orderingKey), takenKeys.map(\.key.key),
                takenKeys.map(\.id))
        }
        if !oldAlarms.isEmpty {
            try transaction.write(
                Self.removeAlarms, oldAlarms.map(\.shard), oldAlarms.map(\.at), oldAlarms.map(\.id))
        }
        if !newAlarms.isEmpty {
            try transaction.write(Self.addAlarms, newAlarms.map(\.shard), newAlarms.map(\.at), newAlarms.map(\.id))
        }
        if !readyAgain.isEmpty {
            try transaction.write(
                Self.addReadyAgain, readyAgain.map(\.shard), readyAgain.map(\.turn), readyAgain.map(\.id))
        }
        if !related.isEmpty {
            try transaction.write(Self.addRelated, related.map(\.shard), related.map(\.turn), related.map(\.id))
        }
        if !endedLeftovers.isEmpty { try transaction.write(Self.removeLeftovers, endedLeftovers) }
        if !leftovers.isEmpty {
            try transaction.write(
                Self.addLeftovers, leftovers.map(\.shard), leftovers.map(\.due), leftovers.map(\.id))
        }
        if !transitions.isEmpty {
            let all = transitions.map(\.entry.transition)
            try transaction.write(
                Self.addTransitions, transitions.map(\.shard), all.map(\.seq), all.map(\.id),
                all.map(\.status.rawValue), all.map(\.at), all.map(\.seat), all.map(\.claim),
                all.map { $0.reason?.withoutNUL }, transitions.map(\.entry.previous))
        }
        if !counts.isEmpty {
            try transaction.write(
                Self.addCounts, counts.map(\.shard), counts.map(\.status), counts.map(\.qos), counts.map(\.change))
        }
    }
}
