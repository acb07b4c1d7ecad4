internal import Synchronization

/// A statement that each connection keeps prepared.
///
/// SQLite uses a partial index for a query only where the condition of the index is part of the query, word
/// for word.
struct Query: Sendable {
    /// The position of the statement in a connection.
    let index: Int
    private let sql: String

    private static let count = Atomic(0)

    init(_ sql: String) {
        index = Self.count.add(1, ordering: .relaxed).oldValue
        self.sql = sql
    }

    /// The columns of a command in the order in which ``StoredCommand/init(_:_:)`` reads them.
    static let columns = """
        c.turn, c.id, c.type, c.qos, c.status, c.destination, c.idempotent, c.claim, c.cancel_requested, c.retries, \
        c.retry_limit, c.crashes, c.suspect, c.not_before, c.deadline, c.open_deadline, c.unique_key, c.fingerprint, \
        c.key_is_free, c.ordering_key, c.offset, c.total, c.seat, c.epoch, c.last, c.reason, c.created_at, \
        c.updated_at, c.dead_at, c.unique_for, c.relations, c.batch_id, c.rate_limit
        """
    static let columnCount: Int32 = 33

    /// The SQL for a shard of a version.
    func sql(version: Int) -> String { Self.adapt(sql, to: version) }

    /// Replaces the columns that a shard of this version lacks.
    static func adapt(_ sql: String, to version: Int) -> String {
        Schema.addedColumns.filter { $0.version > version }.reduce(sql) { sql, column in
            sql.replacing("c.\(column.name)", with: "NULL").replacing(column.name, with: "NULL")
        }
    }
}

/// Inserts of many rows, because a statement costs as much as three rows.
extension Query {
    /// The numbers of rows for which there is a statement, the largest first.
    static let insertSizes = [16, 4, 1]
    static let transitionSizes = [64, 16, 4, 1]

    /// Inserts of several rows. Their parameters have no numbers: for each numbered parameter SQLite searches
    /// all the others, which took 3 ms for 512.
    enum Insert {
        case commands, payloads, transitions
        /// Commands that wait for others, are a part of a flow or batch, or have an ordering key or a rate limit.
        case relatedCommands

        /// - Parameter version: of the shard. The columns that an earlier one lacks are the last parameters of a row.
        func sql(rows: Int, version: Int) -> String {
            switch self {
            case .commands:
                let added = Schema.insertedColumns.filter { $0.version <= version }
                return values(
                    """
                    INSERT INTO command(turn, id, type, qos, destination, idempotent, retry_limit, not_before, deadline,
                    open_deadline, unique_key, fingerprint, total, last, created_at, updated_at\
                    \(added.map { ", " + $0.name }.joined()), status)
                    """, "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?\(added.map { _ in ", ?" }.joined()), 0)", rows
                )
            case .relatedCommands:
                return values(
                    """
                    INSERT INTO command(turn, id, type, qos, destination, idempotent, retry_limit, not_before, deadline,
                    open_deadline, unique_key, fingerprint, total, last, created_at, updated_at, unique_for, status,
                    relations, ordering_key, batch_id, rate_limit)
                    """, "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            case .payloads: return values("INSERT INTO payload(turn, body)", "(?, ?)", rows)
            case .transitions:
                return values(
                    "INSERT INTO transition(seq, id, status, at, seat, claim, reason, previous)",
                    "(?, ?, ?, ?, ?, ?, ?, ?)", rows)
            }
        }

        private func values(_ head: String, _ row: String, _ rows: Int) -> String {
            "\(head) VALUES \([String](repeating: row, count: rows).joined(separator: ", "))"
        }
    }
}

/// The statements of each transaction, and the counts.
extension Query {
    static let begin = Query("BEGIN IMMEDIATE")
    static let commit = Query("COMMIT")
    static let rollback = Query("ROLLBACK")
    static let newestSeq = Query(
        "SELECT max(ifnull((SELECT max(seq) FROM transition), 0), (SELECT value FROM meta WHERE key = 'seq'))")
    static let newestTurn = Query(
        "SELECT max(ifnull((SELECT max(turn) FROM command), 0), (SELECT value FROM meta WHERE key = 'turn'))")
    static let counts = Query("SELECT status, qos, n FROM counts WHERE n <> 0")
    static let addToCount = Query("UPDATE counts SET n = n + ?3 WHERE status = ?1 AND qos = ?2")
}

/// The statements that read the history of commands, and that delete old commands.
extension Query {
    static let transition = Query(
        "SELECT seq, id, status, at, seat, claim, reason, previous FROM transition WHERE seq = ?1")
    static let events = Query(
        """
        SELECT t.seq, t.id, t.status, t.at, t.seat, t.claim, t.reason, c.type, c.qos, c.destination, c.retries
        FROM transition t CROSS JOIN command c ON c.id = t.id WHERE t.seq > ?1 ORDER BY t.seq LIMIT ?2
        """)
    static let prunedThrough = Query("SELECT value FROM meta WHERE key = 'pruned'")
    static let setPrunedThrough = Query("UPDATE meta SET value = ?1 WHERE key = 'pruned'")
    static let transitionsAfter = Query("SELECT seq, id, status, at FROM transition WHERE seq > ?1 ORDER BY seq")
    static let ended = Query(
        "SELECT turn, last, status, qos, ifnull(relations, 0) FROM command WHERE id = ?1 AND last = ?2")
    static let deadBefore = Query(
        """
        SELECT turn, last, status, qos, ifnull(relations, 0) FROM command INDEXED BY command_dead
        WHERE dead_at IS NOT NULL AND dead_at < ?1 AND status IN (?2, ?3) ORDER BY dead_at
        """)
    static let deleteCommand = Query("DELETE FROM command WHERE turn = ?1 AND last = ?2")
    static let deletePayload = Query("DELETE FROM payload WHERE turn = ?1 RETURNING body")
    static let previousTransition = Query("SELECT previous FROM transition WHERE seq = ?1")
    static let deleteTransition = Query("DELETE FROM transition WHERE seq = ?1")
    static let raiseSeqFloor = Query("UPDATE meta SET value = max(value, ?1) WHERE key = 'seq'")
    static let raiseTurnFloor = Query("UPDATE meta SET value = max(value, ?1) WHERE key = 'turn'")
    static let deleteNode = Query("DELETE FROM node WHERE turn = ?1")
    static let deleteDependencies = Query("DELETE FROM dependency WHERE child = ?1")
    static let deleteDependants = Query("DELETE FROM dependency WHERE parent = ?1")
    static let deleteFlow = Query("DELETE FROM flow WHERE turn = ?1")
    static let deleteRemoteDependencies = Query("DELETE FROM remote_dependency WHERE child = ?1")
    static let deleteRemoteDependants = Query("DELETE FROM remote_dependant WHERE parent = ?1")
}
