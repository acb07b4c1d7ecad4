internal import Commands
internal import Host

/// The store of a schema that a copy fills. One transaction holds the locks of all shards from the mark on to the end, and each
/// page is committed by another one, which needs none.
///
/// The locks end with their connection, and then another copy may begin. So each page asks for that connection first, and holds
/// the mark of this copy, which another one has to replace before it removes rows.
final class PostgreSQLCopyTarget: StoreCopyTarget {
    let name: String
    var store: String { target.identity.store }
    let host: String?
    private let target: PostgreSQLStore
    private let transaction: PostgreSQLTransaction
    /// The row of the mark.
    private let mark: String
    /// The number of commands that programs have submitted to an unfinished copy, by shard. They are not removed.
    private var inboxBefore: [Int: Int] = [:]

    /// Makes the schema where there is none, leaves the mark, and runs `body` while nothing else changes the store.
    /// - Throws: `.invalid` where the store is not empty or has another number of shards; `.busy` where another transaction
    ///   holds a lock for longer than 10 s.
    static func open<Value>(
        _ url: String, _ schema: String?, name: String, of source: any CopySource,
        _ body: (PostgreSQLCopyTarget) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let store = try open(url, schema, shardCount: source.shardCount)
        guard store.identity.store != source.store else {
            throw StoreError(.invalid, "\(name) would be copied to itself; name another store as the target.")
        }
        guard store.shardCount == source.shardCount else {
            throw StoreError.shardsDiffer(source, name, store.shardCount)
        }
        let mark = "\(CommandID()) \(CopyMark.arguments(source, name))"
        var result: Value?
        do throws(StoreError) {
            return try store.exclusively { transaction throws(StoreError) in
                try store.refuseProcesses()
                let host = try store.readHost()?.host.description
                let target = PostgreSQLCopyTarget(store, name: name, host: host, transaction, mark: mark)
                try target.begin()
                let value = try body(target)
                result = value
                return value
            }
        } catch {
            // The answer to the commit that removes the mark was lost.
            guard error.code == .unknown, let result else { throw error }
            let isMarked = try store.exclusively { transaction throws(StoreError) in try Self.isMarked(transaction) }
            guard !isMarked else {
                throw StoreError(
                    .unreachable,
                    "The connection to \(name) was lost at the end of the copy, which is not complete; copy again.")
            }
            return result
        }
    }

    private static func isMarked(_ transaction: PostgreSQLTransaction) throws(StoreError) -> Bool {
        try transaction.read(readMark).count > 0
    }

    private static func open(_ url: String, _ schema: String?, shardCount: Int) throws(StoreError) -> PostgreSQLStore {
        do throws(StoreError) {
            return try PostgreSQLStore(url: url, schema: schema, allowsUnfinishedCopy: true)
        } catch {
            guard error.code == .missing else { throw error }
            do throws(StoreError) {
                try PostgreSQLStore.create(url: url, schema: schema, shardCount: shardCount)
            } catch {
                // Another copy may have made it.
                guard error.code == .invalid else { throw error }
            }
            return try PostgreSQLStore(url: url, schema: schema, allowsUnfinishedCopy: true)
        }
    }

    private init(
        _ target: PostgreSQLStore, name: String, host: String?, _ transaction: PostgreSQLTransaction, mark: String
    ) {
        self.name = name
        self.host = host
        self.mark = mark
        self.target = target
        self.transaction = transaction
    }

    // MARK: The beginning

    /// The tables that a copy fills.
    private static let tables =
        ["command", "result", "kept", "leftover", "ready_again", "alarm", "taken", "related", "setting", "session"]
        + ["count", "count_delta", "pruned", "lane_holder"] + StateTable.allCases.map(\.rawValue)
        + CopiedTable.all.map(\.name)

    private static let isEmpty = PostgreSQLStatement(
        once: "SELECT NOT ("
            + (tables + ["inbox"]).filter { $0 != "count" }.map { "EXISTS (SELECT 1 FROM \($0))" }.joined(
                separator: " OR ") + ")")
    private static let readMark = PostgreSQLStatement(
        once: "SELECT 1 FROM meta WHERE key = '\(CopyMark.key)'")
    private static let writeMark = PostgreSQLStatement(
        once: """
            INSERT INTO meta(key, value) VALUES ('\(CopyMark.key)', $1)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value
            """)
    private static let removeMark = PostgreSQLStatement(once: "DELETE FROM meta WHERE key = '\(CopyMark.key)'")

    /// Leaves the mark, and removes the rows of a copy that was interrupted. Durable when this returns.
    private func begin() throws(StoreError) {
        transaction.deadline = .now + CopySQL.longTimeout
        let isMarked = try Self.isMarked(transaction)
        if !isMarked {
            let isEmpty = try transaction.read(Self.isEmpty).first { row in row[0] as Bool }
            guard isEmpty == true else { throw StoreError.notEmpty(name) }
        }
        inboxBefore = try transaction.rowCounts(of: [.inbox], shardCount: target.shardCount)[.inbox] ?? [:]
        try target.transaction(timeout: CopySQL.longTimeout, outcomeIsKnown: false) { transaction throws(StoreError) in
            try transaction.write(PostgreSQLChange.unlimited)
            // First: it waits for the page of an earlier copy that has lost its locks.
            try transaction.write(Self.writeMark, mark)
            if isMarked {
                for table in Self.tables { try transaction.write(PostgreSQLStatement(once: "DELETE FROM \(table)")) }
            }
        }
    }

    // MARK: Rows

    /// The commit that removes the mark makes the pages before it durable too: PostgreSQL has one log.
    private static let commitLater = PostgreSQLStatement(once: "SET LOCAL synchronous_commit = off")
    private static let ping = PostgreSQLStatement("copy-ping", "SELECT 1")
    private static let holdMark = PostgreSQLStatement(
        "copy-hold-mark", "SELECT 1 FROM meta WHERE key = '\(CopyMark.key)' AND value = $1 FOR SHARE")
    private static let insertResults = PostgreSQLStatement(
        "copy-to-result", "INSERT INTO result(id, body) SELECT * FROM unnest($1::uuid[], $2::bytea[])")
    private static let insertCheckpoints = PostgreSQLStatement(
        "copy-to-kept", "INSERT INTO kept(id, state) SELECT * FROM unnest($1::uuid[], $2::bytea[])")
    private static let insertLeftovers = PostgreSQLStatement(
        "copy-to-leftover",
        "INSERT INTO leftover(id, shard, due) SELECT * FROM unnest($1::uuid[], $2::int8[], $3::int8[])")
    private static let insertReadyAgain = PostgreSQLStatement(
        "copy-to-ready-again",
        "INSERT INTO ready_again(shard, turn, id) SELECT * FROM unnest($1::int8[], $2::int8[], $3::uuid[])")

    /// The locks of this transaction keep others out of the inbox, and the pages too.
    private static let insertInbox = PostgreSQLStatement(
        "copy-to-inbox",
        """
        INSERT INTO inbox(id, type, payload, options, is_ordered) SELECT id, type, payload, options, is_ordered
        FROM unnest($1::int8[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::bool[])
            r(number, id, type, payload, options, is_ordered)
        ORDER BY number
        """)

    func insert(_ page: CopyPage, of part: CopyPart) throws(StoreError) {
        for command in page.commands { try command.refuseNUL() }
        transaction.deadline = .now + CopySQL.pageTimeout
        _ = try transaction.read(Self.ping)
        if let table = part.table, table.kind == .inbox {
            _ = try transaction.read(Self.insertInbox, all: table.parameters(of: page.rows))
            return
        }
        try target.transaction(timeout: CopySQL.pageTimeout, outcomeIsKnown: false) { transaction throws(StoreError) in
            try transaction.write(Self.commitLater)
            guard try transaction.read(Self.holdMark, mark).count > 0 else {
                throw StoreError(.busy, "Another copy to \(name) has begun since; this one ends.")
            }
            if !page.commands.isEmpty { try insert(page.commands, transaction) }
            if let table = part.table, !page.rows.isEmpty {
                try transaction.write(table.insertInPostgreSQL, all: table.parameters(of: page.rows))
            }
        }
    }

    private func insert(
        _ commands: [CopiedCommand], _ transaction: PostgreSQLTransaction
    ) throws(StoreError) {
        func shard(_ command: CopiedCommand) -> Int { command.row.id.shard(of: target.shardCount) }
        var rows = RowChanges()
        for command in commands {
            rows.add(
                command.row, replacing: nil, payload: command.payload, shard: shard(command), isPromoted: true)
        }
        try rows.write(to: transaction)
        let results = commands.filter { $0.result != nil }
        if !results.isEmpty {
            try transaction.write(Self.insertResults, results.map(\.row.id), results.map(\.result))
        }
        let checkpoints = commands.filter { $0.checkpoint != nil }
        if !checkpoints.isEmpty {
            try transaction.write(Self.insertCheckpoints, checkpoints.map(\.row.id), checkpoints.map(\.checkpoint))
        }
        let leftovers = commands.filter { $0.leftoverDue != nil }
        if !leftovers.isEmpty {
            try transaction.write(
                Self.insertLeftovers, leftovers.map(\.row.id), leftovers.map(shard), leftovers.map(\.leftoverDue))
        }
        let again = commands.filter(\.isReadyAgain)
        if !again.isEmpty {
            try transaction.write(
                Self.insertReadyAgain, again.map(shard), again.map(\.row.command.turn), again.map(\.row.id))
        }
    }

    // MARK: Facts

    private static let insertSettings = PostgreSQLStatement(
        once: "INSERT INTO setting(key, value) SELECT * FROM unnest($1::text[], $2::text[])")
    private static let insertTypes = PostgreSQLStatement(
        once: "INSERT INTO type(name) SELECT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING")
    private static let insertFloors = PostgreSQLStatement(
        once: "INSERT INTO pruned(shard, seq) SELECT * FROM unnest($1::int8[], $2::int8[])")
    private static let raiseMessage = PostgreSQLStatement(once: "SELECT setval('message_number', $1)")
    private static let raiseGeneration = PostgreSQLStatement(
        once: """
            INSERT INTO meta(key, value) VALUES ('generation', $1::int8::text)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value
            """)
    private static let insertCounts = PostgreSQLStatement(
        once: "INSERT INTO count(shard, status, qos, n) SELECT shard, status, qos, count(*) FROM ("
            + StateTable.allCases.map { "SELECT shard, status, qos FROM \($0.rawValue)" }
            .joined(separator: " UNION ALL ") + ") s GROUP BY shard, status, qos")
    private static let counts = PostgreSQLStatement(once: "SELECT status, qos, n FROM count")

    func write(_ facts: CopyFacts) throws(StoreError) {
        transaction.deadline = .now + CopySQL.longTimeout
        for (key, value) in facts.settings where (key + value).utf8.contains(0) {
            throw StoreError(
                .invalid,
                "The setting “\(key.withoutNUL)” has a NUL, which PostgreSQL does not keep; remove the setting, then copy "
                    + "again.")
        }
        try transaction.write(Self.insertSettings, facts.settings.map(\.key), facts.settings.map(\.value))
        try transaction.write(Self.insertTypes, facts.types.sorted())
        // Turns are given behind the numbers of transitions.
        let floors = facts.floors.enumerated().map { (shard: $0.offset, seq: max($0.element.seq, $0.element.turn)) }
            .filter { $0.seq > 0 }
        try transaction.write(Self.insertFloors, floors.map(\.shard), floors.map(\.seq))
        if facts.message > 0 { try transaction.write(Self.raiseMessage, facts.message) }
        try transaction.write(
            Self.raiseGeneration, max(facts.generation, target.identity.generation) + 1)
        try transaction.write(CopySQL.scanTables)
        try transaction.write(Self.insertCounts)
        _ = try transaction.read(CopySQL.useIndices)
    }

    // MARK: The end

    func counts() throws(StoreError) -> CommandCounts {
        transaction.deadline = .now + CopySQL.longTimeout
        return try transaction.counts(Self.counts)
    }

    func rowCounts() throws(StoreError) -> CopyRowCounts {
        transaction.deadline = .now + CopySQL.longTimeout
        var counts = try transaction.rowCounts(shardCount: target.shardCount)
        for (shard, count) in inboxBefore { counts[.inbox]?[shard]? -= count }
        return counts
    }

    private static let running = PostgreSQLStatement(once: "SELECT id FROM running ORDER BY shard, turn")

    func release(reason: String) throws(StoreError) -> [CommandStatus: Int] {
        transaction.deadline = .now + CopySQL.longTimeout
        let ids = try transaction.read(Self.running).rows { row in row[0] as CommandID }
        let now = target.clock.now()
        var released: [CommandStatus: Int] = [:]
        for start in stride(from: 0, to: ids.count, by: CopyLimits.maxRows) {
            let page = Array(ids[start..<min(start + CopyLimits.maxRows, ids.count)])
            let change = try PostgreSQLChange(
                Array(0..<target.shardCount), transaction, loading: .init(ids: page), store: target)
            for id in page {
                let shard = try change.shard(id.shard(of: target.shardCount))
                guard var row = try shard.command(id) else { continue }
                _ = row.release(blame: .none, started: true, reason: reason, now: now, &shard.changes)
                shard.save(row)
                released[row.command.status, default: 0] += 1
            }
            _ = try change.finish()
        }
        return released
    }

    /// The transaction of ``open(_:_:name:of:_:)`` commits it.
    func finish() throws(StoreError) { try transaction.write(Self.removeMark) }
}

extension CopiedTable {
    /// The parameters of ``insertInPostgreSQL``: an array for each column.
    /// - Throws: `.invalid` for a text with NUL.
    fileprivate func parameters(of rows: [CopiedRow]) throws(StoreError) -> [any PostgreSQLValue] {
        var parameters: [any PostgreSQLValue] = hasShard ? [rows.map(\.shard)] : []
        for (index, column) in columns.enumerated() {
            switch column.kind {
            case .integer: parameters.append(rows.map { $0.values[index].integer })
            case .boolean: parameters.append(rows.map { row in row.values[index].integer.map { $0 != 0 } })
            case .reason: parameters.append(rows.map { $0.values[index].text?.withoutNUL })
            case .bytes: parameters.append(rows.map { $0.values[index].bytes })
            case .id: parameters.append(rows.map { $0.values[index].id })
            case .text:
                if let row = rows.first(where: { $0.values[index].text?.utf8.contains(0) == true }) {
                    throw refusal(of: row, column.name)
                }
                parameters.append(rows.map { $0.values[index].text })
            }
        }
        return parameters
    }

    private func refusal(of row: CopiedRow, _ column: String) -> StoreError {
        let key = keyColumns.map { row.values[$0] }.map { value in
            value.text.map { "“\($0.withoutNUL)”" } ?? value.id?.description ?? value.integer.map { "\($0)" } ?? ""
        }.joined(separator: " ")
        return StoreError(
            .invalid,
            "Among the \(kind.rawValue) of shard \(row.shard), the one with the \(self.key.joined(separator: " and ")) \(key) has "
                + "a NUL in its \(column), which PostgreSQL does not keep in a text; end it and prune it, then copy again.",
            shard: row.shard, id: idColumn.flatMap { row.values[$0].id })
    }
}

extension CopiedCommand {
    /// - Throws: `.invalid` where a text of the command has a NUL. One in its reason is replaced, as at every write.
    fileprivate func refuseNUL() throws(StoreError) {
        let command = row.command
        let texts = [
            ("type", command.type), ("destination", command.destination.text), ("unique key", command.uniqueKey),
            ("ordering key", command.orderingKey), ("rate limit", command.limit),
        ]
        for (name, text) in texts where text?.utf8.contains(0) == true {
            throw StoreError(
                .invalid,
                "The command \(command.id) has a NUL in its \(name), which PostgreSQL does not keep in a text; prune it once it "
                    + "has ended, then copy again.", id: command.id)
        }
    }
}
