/// The statements of single commands, with their payloads and results.
extension Query {
    static let byID = Query("SELECT \(columns) FROM command c WHERE c.id = ?1")
    static let byTurn = Query("SELECT \(columns) FROM command c WHERE c.turn = ?1")
    static let save = Query(
        """
        UPDATE command SET qos = ?2, status = ?3, claim = ?4, cancel_requested = ?5, retries = ?6, crashes = ?7,
        suspect = ?8, not_before = ?9, deadline = ?10, open_deadline = ?11, key_is_free = ?12, seat = ?13,
        epoch = ?14, last = ?15, reason = ?16, updated_at = ?17, dead_at = ?18,
        offset = iif(?3 = 4, total, offset) WHERE turn = ?1
        """)
    static let payload = Query("SELECT p.body FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.id = ?1")
    static let result = Query("SELECT r.body FROM command c CROSS JOIN result r ON r.turn = c.turn WHERE c.id = ?1")
    static let setResult = Query("INSERT OR REPLACE INTO result(turn, body) VALUES (?1, ?2)")
    static let deleteResult = Query("DELETE FROM result WHERE turn = ?1")
    static let byUniqueKey = Query(
        """
        SELECT id, turn, fingerprint, unique_for, created_at FROM command
        WHERE type = ?1 AND ifnull(ordering_key, '') = ?2 AND unique_key = ?3
        AND unique_key IS NOT NULL AND key_is_free = 0
        """)
    /// SQLite searches by the first bounds that it reads. No character is above the last one of Unicode.
    static let byRequestKey = Query(
        """
        SELECT id, unique_key FROM command
        WHERE unique_key >= ?1 AND unique_key < ?1 || char(1114111) AND unique_key >= 'idempotency:' AND unique_key < 'idempotency;' ORDER BY turn DESC
        """)
    static let releaseUniqueKey = Query("UPDATE command SET key_is_free = 1 WHERE turn = ?1")
    static let types = Query("SELECT name FROM type")
    static let addType = Query("INSERT OR IGNORE INTO type(name) VALUES (?1)")
}
