internal import Commands

/// The rows of messages to other shards, of the commands that wait for them, and of the parts of batches.
extension PostgreSQLShard {
    private static let remoteColumns = "child, parent, condition, state, status, result"
    private static let remoteDependencies = PostgreSQLStatement(
        "remote-dependencies",
        "SELECT \(remoteColumns) FROM remote_dependency WHERE shard = $1 AND child = $2 ORDER BY parent")
    private static let remoteDependency = PostgreSQLStatement(
        "remote-dependency",
        "SELECT \(remoteColumns) FROM remote_dependency WHERE shard = $1 AND child = $2 AND parent = $3")
    private static let saveRemoteDependency = PostgreSQLStatement(
        "save-remote-dependency",
        """
        INSERT INTO remote_dependency(shard, \(remoteColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (shard, child, parent) DO UPDATE SET condition = excluded.condition, state = excluded.state,
            status = excluded.status, result = excluded.result
        """)

    func remoteDependencies(of child: Int64) throws(StoreError) -> [RemoteDependencyRow] {
        try transaction.read(Self.remoteDependencies, number, child).rows { row throws(StoreError) in
            try RemoteDependencyRow(row)
        }
    }

    func remoteDependency(of child: Int64, on parent: CommandID) throws(StoreError) -> RemoteDependencyRow? {
        try transaction.read(Self.remoteDependency, number, child, parent).first { row throws(StoreError) in
            try RemoteDependencyRow(row)
        }
    }

    func save(_ dependency: RemoteDependencyRow) throws(StoreError) {
        try transaction.write(
            Self.saveRemoteDependency, number, dependency.child, dependency.parent, dependency.condition.rawValue,
            dependency.state.rawValue, dependency.status?.rawValue, dependency.result)
    }

    private static let remoteDependants = PostgreSQLStatement(
        "remote-dependants",
        """
        SELECT number, child, wants_result FROM remote_dependant WHERE shard = $1 AND parent = $2 AND number > $3
        ORDER BY number LIMIT $4
        """)
    private static let addRemoteDependant = PostgreSQLStatement(
        "add-remote-dependant",
        """
        INSERT INTO remote_dependant(shard, parent, child, wants_result) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
        """)
    private static let remoteDependantNumber = PostgreSQLStatement(
        "remote-dependant-number",
        "SELECT number FROM remote_dependant WHERE shard = $1 AND parent = $2 AND child = $3")
    private static let removeRemoteDependant = PostgreSQLStatement(
        "remove-remote-dependant", "DELETE FROM remote_dependant WHERE shard = $1 AND parent = $2 AND child = $3")

    func remoteDependants(
        of parent: Int64, after number: Int64, limit: Int
    ) throws(StoreError) -> [RemoteDependantRow] {
        try transaction.read(Self.remoteDependants, self.number, parent, number, limit).rows { row in
            RemoteDependantRow(number: row[0], parent: parent, child: row[1], wantsResult: row[2])
        }
    }

    func add(_ dependant: RemoteDependantRow) throws(StoreError) -> Int64 {
        try transaction.write(
            Self.addRemoteDependant, number, dependant.parent, dependant.child, dependant.wantsResult)
        return try transaction.read(Self.remoteDependantNumber, number, dependant.parent, dependant.child).first {
            row in
            row[0] as Int64
        } ?? 0
    }

    func remove(_ dependant: RemoteDependantRow) throws(StoreError) {
        try transaction.write(Self.removeRemoteDependant, number, dependant.parent, dependant.child)
    }

    // MARK: Outbox

    private static let post = PostgreSQLStatement(
        "post",
        """
        INSERT INTO outbox(shard, receiver, sender, kind, first, second, reason, result)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """)
    static let outbox = PostgreSQLStatement(
        "outbox",
        """
        SELECT number, receiver, sender, kind, first, second, reason, result FROM outbox
        WHERE shard = $1 AND number > $2 ORDER BY number LIMIT $3
        """)
    private static let removeMessage = PostgreSQLStatement(
        "remove-message", "DELETE FROM outbox WHERE shard = $1 AND number = $2")

    func post(_ message: ShardMessage) throws(StoreError) {
        let columns = MessageColumns(message.content)
        try transaction.write(
            Self.post, number, message.receiver, message.sender, columns.kind.rawValue, columns.first, columns.second,
            columns.reason?.withoutNUL, columns.result)
    }

    func removeMessage(_ number: Int64) throws(StoreError) {
        try transaction.write(Self.removeMessage, self.number, number)
    }

    // MARK: Parts of batches

    private static let partColumns = "number, batch, members, open, failed, state"
    static let partOfBatch = PostgreSQLStatement(
        "part-of-batch", "SELECT \(partColumns) FROM batch_part WHERE shard = $1 AND batch = $2")
    private static let partByNumber = PostgreSQLStatement(
        "part-by-number", "SELECT \(partColumns) FROM batch_part WHERE shard = $1 AND number = $2")
    private static let partsAfter = PostgreSQLStatement(
        "parts-after",
        "SELECT \(partColumns) FROM batch_part WHERE shard = $1 AND number > $2 ORDER BY number LIMIT $3")
    private static let insertPart = PostgreSQLStatement(
        "insert-part",
        """
        INSERT INTO batch_part(shard, \(partColumns)) VALUES ($1, nextval('message_number'), $2, $3, $4, $5, $6)
        """)
    private static let savePart = PostgreSQLStatement(
        "save-part",
        "UPDATE batch_part SET members = $3, open = $4, failed = $5, state = $6 WHERE shard = $1 AND number = $2")
    private static let removePart = PostgreSQLStatement(
        "remove-part", "DELETE FROM batch_part WHERE shard = $1 AND number = $2")
    private static let membersOf = PostgreSQLStatement(
        "members-of",
        """
        SELECT turn FROM command WHERE batch IS NOT NULL AND batch = $2 AND shard = $1 AND turn > $3
        ORDER BY turn LIMIT $4
        """)

    func part(of batch: CommandID) throws(StoreError) -> BatchPart? {
        if let known = parts[batch] { return known }
        return try transaction.read(Self.partOfBatch, number, batch).first { row throws(StoreError) in
            try BatchPart(row)
        }
    }

    func part(_ number: Int64) throws(StoreError) -> BatchPart? {
        try transaction.read(Self.partByNumber, self.number, number).first { row throws(StoreError) in
            try BatchPart(row)
        }
    }

    func parts(after number: Int64, limit: Int) throws(StoreError) -> [BatchPart] {
        try transaction.read(Self.partsAfter, self.number, number, limit).rows { row throws(StoreError) in
            try BatchPart(row)
        }
    }

    /// - Parameter part: a new one has the number 0.
    func save(_ part: BatchPart) throws(StoreError) {
        if part.number == 0 {
            // The server gives its number.
            parts.removeValue(forKey: part.batch)
            try transaction.write(
                Self.insertPart, number, part.batch, part.members, part.open, part.failed, part.stateColumn)
        } else {
            parts[part.batch] = .some(part)
            try transaction.write(
                Self.savePart, number, part.number, part.members, part.open, part.failed, part.stateColumn)
        }
    }

    func remove(_ part: BatchPart) throws(StoreError) {
        parts.removeValue(forKey: part.batch)
        try transaction.write(Self.removePart, number, part.number)
    }

    func members(of batch: CommandID, after turn: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try flush()
        return try transaction.read(Self.membersOf, number, batch, turn, limit).rows { row in row[0] as Int64 }
    }
}

extension RemoteDependencyRow {
    fileprivate init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        self.init(
            child: row[0], parent: row[1], condition: try row.value(2, "a dependency has the condition"),
            state: try row.value(3, "a dependency has the state"),
            status: row.isNull(4) ? nil : try row.status(4), result: row[5] as [UInt8]?)
    }
}

extension ShardMessage {
    /// Reads the columns of ``PostgreSQLShard/outbox``.
    init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        let columns = MessageColumns(
            kind: try row.value(3, "a message has the kind"), first: row[4] as Int64?, second: row[5] as Int64?,
            reason: row[6] as String?, result: row[7] as [UInt8]?)
        self.init(number: row[0], receiver: row[1], sender: row[2], content: try columns.content)
    }
}

extension BatchPart {
    init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        try self.init(
            number: row[0], batch: row[1], members: row[2], open: row[3], failed: row[4], stateColumn: row[5])
    }
}
