internal import Commands

/// Rows of a table of states as arrays for `unnest`, one for each column.
struct StateRows {
    private var ids: [CommandID] = []
    private var shards: [Int] = []
    private var turns: [Int64] = []
    private var types: [String] = []
    private var destinations: [String] = []
    private var limits: [String?] = []
    private var createdAt: [Timestamp] = []
    private var qos: [Int] = []
    private var status: [Int] = []
    private var claims: [Int] = []
    private var cancelRequested: [Bool] = []
    private var retries: [Int] = []
    private var crashes: [Int] = []
    private var suspect: [Int] = []
    private var notBefore: [Timestamp] = []
    private var deadline: [Timestamp?] = []
    private var openDeadline: [Timestamp?] = []
    private var keyIsFree: [Bool] = []
    private var offset: [Int64] = []
    private var total: [Int64] = []
    private var seat: [Int?] = []
    private var epoch: [Int64?] = []
    private var last: [Int64] = []
    private var reason: [String?] = []
    private var updatedAt: [Timestamp] = []
    private var deadAt: [Timestamp?] = []
    private var relations: [Int] = []

    mutating func append(_ row: StoredCommand, shard: Int) {
        let command = row.command
        ids.append(command.id)
        shards.append(shard)
        turns.append(command.turn)
        types.append(command.type)
        destinations.append(command.destination.text)
        limits.append(command.limit)
        createdAt.append(command.createdAt)
        qos.append(command.qos.rawValue)
        status.append(command.status.rawValue)
        claims.append(command.claim)
        cancelRequested.append(command.cancelRequested)
        retries.append(command.retries)
        crashes.append(command.crashes)
        suspect.append(command.isSoleSuspect ? Schema.soleSuspect : command.suspect ? 1 : 0)
        notBefore.append(command.notBefore)
        deadline.append(command.deadline)
        openDeadline.append(row.openDeadline)
        keyIsFree.append(row.keyIsFree)
        offset.append(command.offset)
        total.append(command.total)
        seat.append(command.seat)
        epoch.append(row.epoch)
        last.append(row.newestSeq)
        reason.append(command.reason?.withoutNUL)
        updatedAt.append(command.updatedAt)
        deadAt.append(row.deadAt)
        relations.append(row.relations.rawValue)
    }

    func write(_ statement: PostgreSQLStatement?, to transaction: PostgreSQLTransaction) throws(StoreError) {
        guard let statement, !ids.isEmpty else { return }
        try transaction.write(
            statement, ids, shards, turns, types, destinations, limits, createdAt, qos, status, claims, cancelRequested,
            retries, crashes, suspect, notBefore, deadline, openDeadline, keyIsFree, offset, total, seat, epoch, last,
            reason, updatedAt, deadAt, relations)
    }
}

/// New rows of `command` as arrays for `unnest`.
struct NewCommandRows {
    private var rows: [(row: StoredCommand, payload: [UInt8], shard: Int)] = []

    mutating func append(_ row: StoredCommand, _ payload: [UInt8], shard: Int) { rows.append((row, payload, shard)) }

    func write(to transaction: PostgreSQLTransaction) throws(StoreError) {
        guard !rows.isEmpty else { return }
        let commands = rows.map(\.row.command)
        try transaction.write(
            CommandSQL.insertCommands, commands.map(\.id), rows.map(\.shard), commands.map(\.turn),
            commands.map(\.type),
            commands.map(\.destination.text), commands.map(\.limit), commands.map(\.createdAt),
            commands.map(\.idempotent), commands.map(\.retryLimit), commands.map(\.uniqueKey),
            commands.map(\.uniqueFor.stored), rows.map(\.row.digest), commands.map(\.orderingKey),
            commands.map(\.batch), rows.map(\.payload))
    }
}

extension String {
    /// PostgreSQL keeps no NUL in a text. A reason comes from anywhere, and a mark in it is better than its loss.
    var withoutNUL: String {
        utf8.contains(0) ? String(decoding: utf8.map { $0 == 0 ? UInt8(ascii: "?") : $0 }, as: UTF8.self) : self
    }
}
