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
