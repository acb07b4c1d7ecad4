/// The statements of the queue: commands that are ready, and commands that wait for a time.
extension Query {
    /// Commands that an execution has left waiting. One that was never claimed waits for its producer's time.
    private static let heldBackBy = """
        FROM command INDEXED BY command_held_back
        WHERE not_before > 0 AND not_before > 1 AND type = ?1 AND destination = ?2 AND status IN (0, 3) AND claim > 0
        """

    static let ready = Query(
        """
        SELECT id, type, turn, created_at, suspect, offset, total FROM command INDEXED BY command_ready
        WHERE destination = ?1 AND qos = ?2 AND status IN (0, 3) AND not_before = 0 AND turn > ?3
        ORDER BY turn LIMIT ?4
        """)
    static let readyLimited = Query(
        """
        SELECT id, type, turn, created_at, suspect, offset, total FROM command INDEXED BY command_limited
        WHERE rate_limit = ?5 AND destination = ?1 AND qos = ?2 AND status IN (0, 3) AND not_before < 0 AND turn > ?3
        ORDER BY turn LIMIT ?4
        """)
    /// Seeks from one pair to the next: 0.02 ms for 50,000 rows of a pair. `(destination, qos) > (?1, ?2)` takes
    /// 11 ms, because SQLite seeks only its first column and then scans all rows of the known pair.
    static let readyKeyAfter = Query(
        """
        SELECT destination, qos FROM (
          SELECT destination, qos FROM command INDEXED BY command_ready
          WHERE status IN (0, 3) AND not_before = 0 AND destination = ?1 AND qos > ?2 ORDER BY qos LIMIT 1)
        UNION ALL
        SELECT destination, qos FROM (
          SELECT destination, qos FROM command INDEXED BY command_ready
          WHERE status IN (0, 3) AND not_before = 0 AND destination > ?1 ORDER BY destination, qos LIMIT 1)
        LIMIT 1
        """)
    /// As `readyKeyAfter`.
    static let limitedKeyAfter = Query(
        """
        SELECT rate_limit, destination, qos FROM (
          SELECT rate_limit, destination, qos FROM command INDEXED BY command_limited
          WHERE status IN (0, 3) AND not_before < 0 AND rate_limit = ?1 AND destination = ?2 AND qos > ?3
          ORDER BY qos LIMIT 1)
        UNION ALL
        SELECT rate_limit, destination, qos FROM (
          SELECT rate_limit, destination, qos FROM command INDEXED BY command_limited
          WHERE status IN (0, 3) AND not_before < 0 AND rate_limit = ?1 AND destination > ?2
          ORDER BY destination, qos LIMIT 1)
        UNION ALL
        SELECT rate_limit, destination, qos FROM (
          SELECT rate_limit, destination, qos FROM command INDEXED BY command_limited
          WHERE status IN (0, 3) AND not_before < 0 AND rate_limit > ?1
          ORDER BY rate_limit, destination, qos LIMIT 1)
        LIMIT 1
        """)
    static let limitedCounts = Query(
        """
        SELECT rate_limit, count(*) FROM command INDEXED BY command_limited
        WHERE status IN (0, 3) AND not_before < 0 GROUP BY rate_limit
        """)
    static let readyByID = Query(
        """
        SELECT id, type, turn, created_at, suspect, offset, total, destination, qos, rate_limit FROM command
        WHERE id = ?1 AND status IN (0, 3) AND not_before <= 0
        """)
    static let recordReadyAgain = Query("INSERT OR IGNORE INTO ready_again(turn) VALUES (?1)")
    static let hasReadyAgain = Query("SELECT 1 FROM ready_again LIMIT 1")
    /// A row of a command that is deleted, claimed or not due has no id.
    static let readyAgain = Query(
        """
        SELECT c.id, c.type, r.turn, c.created_at, c.suspect, c.offset, c.total, c.destination, c.qos, c.rate_limit
        FROM ready_again r LEFT JOIN command c ON c.turn = r.turn AND c.status IN (0, 3) AND c.not_before <= 0
        ORDER BY r.turn LIMIT ?1
        """)
    static let dropReadyAgain = Query("DELETE FROM ready_again WHERE turn <= ?1")
    static let dueRows = Query(
        """
        SELECT id, type, turn, created_at, suspect, offset, total, destination, qos, status, rate_limit FROM command
        INDEXED BY command_held_back WHERE not_before > 0 AND not_before <= ?1 ORDER BY not_before LIMIT ?2
        """)
    static let nextDue = Query("SELECT min(not_before) FROM command INDEXED BY command_held_back WHERE not_before > 0")
    /// See `command_limited`.
    static let promote = Query("UPDATE command SET not_before = iif(rate_limit IS NULL, 0, -1) WHERE turn = ?1")
    /// A row value would seek only by its first column, and then scan the rows that share it.
    static let heldBack = Query(
        """
        SELECT turn, not_before, type = ?1 AND destination = ?2 AND status IN (0, 3) AND claim > 0
        FROM command INDEXED BY command_held_back WHERE not_before > 0 AND not_before > 1
        AND not_before >= ?3 AND (not_before > ?3 OR turn > ?4) ORDER BY not_before, turn LIMIT ?5
        """)
    static let heldBackCount = Query("SELECT count(*) \(heldBackBy)")
    /// Due since 1970: the next look for due rows finds it first.
    static let endWait = Query("UPDATE command SET not_before = 1 WHERE turn = ?1")
    /// A `new` command that was claimed before waits for as long as a destination asked. One that was never
    /// claimed waits for the time of day that its producer named, and is not shifted.
    static let shiftBackoffs = Query(
        """
        UPDATE command SET not_before = max(not_before + ?1, 1)
        WHERE not_before > 0 AND (status = 3 OR status = 0 AND claim > 0) AND (?2 IS NULL OR updated_at < ?2)
        """)
    /// A row that a clock ahead of this one has written waits for as long as it was meant to.
    static let clampWaits = Query(
        """
        UPDATE command SET not_before = min(not_before, ?1 + iif(
            updated_at > ?1 AND not_before - updated_at BETWEEN 0 AND ?2, not_before - updated_at, ?3))
        WHERE not_before > ?1 AND not_before > 0 AND (status = 3 OR status = 0 AND claim > 0)
        AND (updated_at > ?1 OR not_before > ?1 + ?2)
        """)
    static let newestTimes = Query("SELECT turn, created_at FROM command ORDER BY turn DESC LIMIT 100000")
    static let deadlines = Query(
        """
        SELECT \(columns) FROM command c INDEXED BY command_deadline
        WHERE c.open_deadline IS NOT NULL AND c.open_deadline <= ?1 ORDER BY c.open_deadline LIMIT ?2
        """)
    static let nextDeadline = Query(
        "SELECT min(open_deadline) FROM command INDEXED BY command_deadline WHERE open_deadline IS NOT NULL")
}
