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
