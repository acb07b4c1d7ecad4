internal import Commands

/// The rows of messages to other shards, and of the commands that wait for them.
extension Connection {
    func command(_ id: CommandID) throws(StoreError) -> StoredCommand? { try find(id) }

    func remoteDependencies(of child: Int64) throws(StoreError) -> [RemoteDependencyRow] {
        try statement(.remoteDependencies, child).rows(RemoteDependencyRow.init)
    }

    func remoteDependency(of child: Int64, on parent: CommandID) throws(StoreError) -> RemoteDependencyRow? {
        try statement(.remoteDependency, child, parent).first(RemoteDependencyRow.init)
    }

    func save(_ dependency: RemoteDependencyRow) throws(StoreError) {
        try statement(
            .saveRemoteDependency, dependency.child, dependency.parent, dependency.condition.rawValue,
            dependency.state.rawValue, dependency.status, dependency.result
        ).run()
    }

    func remoteDependants(
        of parent: Int64, after number: Int64, limit: Int
    ) throws(StoreError) -> [RemoteDependantRow] {
        try statement(.remoteDependants, parent, number, limit).rows { row throws(StoreError) in
            RemoteDependantRow(
                number: row.int64(0), parent: parent, child: try row.id(1), wantsResult: row.bool(2))
        }
    }

    func add(_ dependant: RemoteDependantRow) throws(StoreError) -> Int64 {
        try statement(.addRemoteDependant, dependant.parent, dependant.child, dependant.wantsResult).run()
        return try statement(.remoteDependantNumber, dependant.parent, dependant.child).first { $0.int64(0) } ?? 0
    }

    func remove(_ dependant: RemoteDependantRow) throws(StoreError) {
        try statement(.removeRemoteDependant, dependant.number).run()
    }

    // MARK: Outbox

    func post(_ message: ShardMessage) throws(StoreError) {
        let columns = MessageColumns(message.content)
        try statement(
            .post, message.receiver, message.sender, columns.kind.rawValue, columns.first, columns.second,
            columns.reason, columns.result
        ).run()
    }

    func outbox(after number: Int64, limit: Int) throws(StoreError) -> [ShardMessage] {
        try statement(.outbox, number, limit).rows { row throws(StoreError) in
            ShardMessage(
                number: row.int64(0), receiver: try row.id(1), sender: try row.id(2),
                content: try MessageColumns(row).content)
        }
    }

    func removeMessage(_ number: Int64) throws(StoreError) { try statement(.removeMessage, number).run() }
}

extension RemoteDependencyRow {
    fileprivate init(_ row: Statement) throws(StoreError) {
        self.init(
            child: row.int64(0), parent: try row.id(1), condition: try row.condition(2),
            state: try row.dependencyState(3), status: row.isNull(4) ? nil : try row.status(4),
            result: row.optionalBytes(5))
    }
}

extension MessageColumns {
    /// Reads kind, first, second, reason, result from the fourth column on.
    init(_ row: Statement) throws(StoreError) {
        self.init(
            kind: try row.value(3, "a message has the kind"), first: row.optionalInt64(4),
            second: row.optionalInt64(5), reason: row.optionalText(6), result: row.optionalBytes(7))
    }
}

/// The rows of the parts of batches.
extension Connection {
    func part(of batch: CommandID) throws(StoreError) -> BatchPart? {
        try statement(.partOfBatch, batch).first(BatchPart.init)
    }

    func part(_ number: Int64) throws(StoreError) -> BatchPart? {
        try statement(.partByNumber, number).first(BatchPart.init)
    }

    func parts(after number: Int64, limit: Int) throws(StoreError) -> [BatchPart] {
        try statement(.partsAfter, number, limit).rows(BatchPart.init)
    }

    func save(_ part: BatchPart) throws(StoreError) {
        if part.number == 0 {
            try statement(.insertPart, part.batch).run()
        } else {
            try statement(.savePart, part.number, part.members, part.open, part.failed, part.stateColumn).run()
        }
    }

    func remove(_ part: BatchPart) throws(StoreError) { try statement(.removePart, part.number).run() }

    func members(of batch: CommandID, after turn: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try statement(.membersOf, batch, turn, limit).rows { $0.int64(0) }
    }
}

extension BatchPart {
    fileprivate init(_ row: Statement) throws(StoreError) {
        try self.init(
            number: row.int64(0), batch: try row.id(1), members: row.int(2), open: row.int(3), failed: row.int(4),
            stateColumn: row.int(5))
    }

    init(
        number: Int64, batch: CommandID, members: Int, open: Int, failed: Int, stateColumn column: Int
    ) throws(StoreError) {
        guard let state = State(rawValue: column & 0xFF) else {
            throw StoreError(.corrupt, "a part of a batch has the state \(column)")
        }
        self.init(
            number: number, batch: batch, members: members, open: open, failed: failed, state: state,
            minQoS: QualityOfService(rawValue: (column >> 8) - 1))
    }

    /// The state, and 256 times the number of the quality of service and one.
    var stateColumn: Int { state.rawValue + 256 * (minQoS.map { $0.rawValue + 1 } ?? 0) }
}

/// The statements of relations between shards.
extension Query {
    static let remoteDependencies = Query(
        """
        SELECT child, parent, condition, state, status, result FROM remote_dependency WHERE child = ?1 ORDER BY parent
        """)
    static let remoteDependency = Query(
        """
        SELECT child, parent, condition, state, status, result FROM remote_dependency WHERE child = ?1 AND parent = ?2
        """)
    static let saveRemoteDependency = Query(
        """
        INSERT OR REPLACE INTO remote_dependency(child, parent, condition, state, status, result)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """)
    static let remoteDependants = Query(
        """
        SELECT number, child, wants_result FROM remote_dependant INDEXED BY remote_dependant_parent
        WHERE parent = ?1 AND number > ?2 ORDER BY number LIMIT ?3
        """)
    static let addRemoteDependant = Query(
        "INSERT OR IGNORE INTO remote_dependant(parent, child, wants_result) VALUES (?1, ?2, ?3)")
    static let remoteDependantNumber = Query("SELECT number FROM remote_dependant WHERE parent = ?1 AND child = ?2")
    static let removeRemoteDependant = Query("DELETE FROM remote_dependant WHERE number = ?1")
    static let post = Query(
        """
        INSERT INTO outbox(receiver, sender, kind, first, second, reason, result) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        """)
    static let outbox = Query(
        """
        SELECT number, receiver, sender, kind, first, second, reason, result FROM outbox
        WHERE number > ?1 ORDER BY number LIMIT ?2
        """)
    static let removeMessage = Query("DELETE FROM outbox WHERE number = ?1")
}

/// The statements of the parts of batches.
extension Query {
    static let partOfBatch = Query(
        "SELECT number, batch, members, open, failed, state FROM batch_part WHERE batch = ?1")
    static let partByNumber = Query(
        "SELECT number, batch, members, open, failed, state FROM batch_part WHERE number = ?1")
    static let partsAfter = Query(
        """
        SELECT number, batch, members, open, failed, state FROM batch_part WHERE number > ?1 ORDER BY number LIMIT ?2
        """)
    static let insertPart = Query("INSERT INTO batch_part(batch, members, open, failed, state) VALUES (?1, 0, 0, 0, 0)")
    static let savePart = Query(
        "UPDATE batch_part SET members = ?2, open = ?3, failed = ?4, state = ?5 WHERE number = ?1")
    static let removePart = Query("DELETE FROM batch_part WHERE number = ?1")
    static let membersOf = Query(
        """
        SELECT turn FROM command INDEXED BY command_batch
        WHERE batch_id IS NOT NULL AND batch_id = ?1 AND turn > ?2 ORDER BY turn LIMIT ?3
        """)
}
