internal import Commands

/// Rows of a table of states that a transaction writes.
struct StateRows {
    /// The columns in which the rows of a commit are often equal.
    private struct Shared: Hashable {
        var type: String
        var destination: String
        var limit: String?
        var qos: Int
        var status: Int
        var claim: Int
        var cancelRequested: Bool
        var retries: Int
        var crashes: Int
        var suspect: Int
        var notBefore: Timestamp
        var deadline: Timestamp?
        var openDeadline: Timestamp?
        var keyIsFree: Bool
        var offset: Int64
        var total: Int64
        var seat: Int?
        var epoch: Int64?
        var reason: String?
        var updatedAt: Timestamp
        var deadAt: Timestamp?
        var relations: Int

        init(_ row: StoredCommand) {
            let command = row.command
            (type, destination, limit) = (command.type, command.destination.text, command.limit)
            (qos, status, claim) = (command.qos.rawValue, command.status.rawValue, command.claim)
            (cancelRequested, retries, crashes) = (command.cancelRequested, command.retries, command.crashes)
            suspect = command.isSoleSuspect ? Schema.soleSuspect : command.suspect ? 1 : 0
            (notBefore, deadline, openDeadline) = (command.notBefore, command.deadline, row.openDeadline)
            (keyIsFree, offset, total) = (row.keyIsFree, command.offset, command.total)
            (seat, epoch, reason) = (command.seat, row.epoch, command.reason?.withoutNUL)
            (updatedAt, deadAt, relations) = (command.updatedAt, row.deadAt, row.relations.rawValue)
        }
    }

    private var rows: [(row: StoredCommand, shard: Int)] = []

    mutating func append(_ row: StoredCommand, shard: Int) { rows.append((row, shard)) }

    func insert(into table: StateTable, _ transaction: PostgreSQLTransaction) throws(StoreError) {
        let groups = EqualRows(rows) { Shared($0.row) }
        if let statement = CommandSQL.insertEqual[table] {
            for (shared, rows) in groups.equal {
                let commands = rows.map(\.row.command)
                try transaction.write(
                    statement, commands.map(\.id), rows.map(\.shard), commands.map(\.turn), commands.map(\.createdAt),
                    rows.map(\.row.newestSeq), shared.type, shared.destination, shared.limit, shared.qos, shared.status,
                    shared.claim, shared.cancelRequested, shared.retries, shared.crashes, shared.suspect,
                    shared.notBefore, shared.deadline, shared.openDeadline, shared.keyIsFree, shared.offset,
                    shared.total, shared.seat, shared.epoch, shared.reason, shared.updatedAt, shared.deadAt,
                    shared.relations)
            }
        }
        try write(groups.others, CommandSQL.insert[table], transaction)
    }

    func update(_ table: StateTable, _ transaction: PostgreSQLTransaction) throws(StoreError) {
        try write(rows, CommandSQL.update[table], transaction)
    }

    private func write(
        _ rows: [(row: StoredCommand, shard: Int)], _ statement: PostgreSQLStatement?,
        _ transaction: PostgreSQLTransaction
    ) throws(StoreError) {
        guard let statement, !rows.isEmpty else { return }
        let (commands, shared) = (rows.map(\.row.command), rows.map { Shared($0.row) })
        try transaction.write(
            statement, commands.map(\.id), rows.map(\.shard), commands.map(\.turn), commands.map(\.createdAt),
            rows.map(\.row.newestSeq), shared.map(\.type), shared.map(\.destination), shared.map(\.limit),
            shared.map(\.qos), shared.map(\.status), shared.map(\.claim), shared.map(\.cancelRequested),
            shared.map(\.retries), shared.map(\.crashes), shared.map(\.suspect), shared.map(\.notBefore),
            shared.map(\.deadline), shared.map(\.openDeadline), shared.map(\.keyIsFree), shared.map(\.offset),
            shared.map(\.total), shared.map(\.seat), shared.map(\.epoch), shared.map(\.reason),
            shared.map(\.updatedAt), shared.map(\.deadAt), shared.map(\.relations))
    }
}

/// New rows of `command` that a transaction writes.
struct NewCommandRows {
    private struct Shared: Hashable {
        var type: String
        var destination: String
        var limit: String?
        var createdAt: Timestamp
        var isIdempotent: Bool
        var retryLimit: Int
        var uniqueFor: Int64?
        var orderingKey: String?
        var batch: CommandID?

        init(_ command: Command) {
            (type, destination, limit) = (command.type, command.destination.text, command.limit)
            (createdAt, isIdempotent, retryLimit) = (command.createdAt, command.idempotent, command.retryLimit)
            (uniqueFor, orderingKey, batch) = (command.uniqueFor.stored, command.orderingKey, command.batch)
        }
    }

    private var rows: [(row: StoredCommand, payload: [UInt8], shard: Int)] = []

    mutating func append(_ row: StoredCommand, _ payload: [UInt8], shard: Int) { rows.append((row, payload, shard)) }

    func insert(_ transaction: PostgreSQLTransaction) throws(StoreError) {
        let groups = EqualRows(rows) { Shared($0.row.command) }
        for (shared, rows) in groups.equal {
            let commands = rows.map(\.row.command)
            try transaction.write(
                CommandSQL.insertEqualCommands, commands.map(\.id), rows.map(\.shard), commands.map(\.turn),
                commands.map(\.uniqueKey), rows.map(\.row.digest), rows.map(\.payload), shared.type,
                shared.destination, shared.limit, shared.createdAt, shared.isIdempotent, shared.retryLimit,
                shared.uniqueFor, shared.orderingKey, shared.batch)
        }
        let others = groups.others
        guard !others.isEmpty else { return }
        let (commands, shared) = (others.map(\.row.command), others.map { Shared($0.row.command) })
        try transaction.write(
            CommandSQL.insertCommands, commands.map(\.id), others.map(\.shard), commands.map(\.turn),
            commands.map(\.uniqueKey), others.map(\.row.digest), others.map(\.payload), shared.map(\.type),
            shared.map(\.destination), shared.map(\.limit), shared.map(\.createdAt), shared.map(\.isIdempotent),
            shared.map(\.retryLimit), shared.map(\.uniqueFor), shared.map(\.orderingKey), shared.map(\.batch))
    }
}

/// Rows in groups that are equal in some columns, whose values are sent once for a group. An element of an array costs the
/// server about 0.5 µs, so that a row of 27 columns takes twice the time of one with five.
private struct EqualRows<Row, Shared: Hashable> {
    /// A statement costs about as much as this number of rows saves.
    private static var minCount: Int { 32 }

    private(set) var equal: [(shared: Shared, rows: [Row])] = []
    /// Those that have too few equals.
    private(set) var others: [Row] = []

    init(_ rows: [Row], by shared: (Row) -> Shared) {
        guard rows.count >= Self.minCount else {
            others = rows
            return
        }
        for (shared, rows) in Dictionary(grouping: rows, by: shared) {
            if rows.count < Self.minCount { others += rows } else { equal.append((shared, rows)) }
        }
    }
}

extension String {
    /// PostgreSQL keeps no NUL in a text. A reason comes from anywhere, and a mark in it is better than its loss.
    var withoutNUL: String {
        utf8.contains(0) ? String(decoding: utf8.map { $0 == 0 ? UInt8(ascii: "?") : $0 }, as: UTF8.self) : self
    }
}
