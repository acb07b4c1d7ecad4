/// The statements of executions: claims, progress, ends, checkpoints and the sessions of workers.
extension Query {
    private static let claimedColumns = """
        c.id, c.status, c.type, c.qos, c.destination, c.seat, c.epoch, c.claim, c.retries, c.suspect, c.updated_at, \
        c.rate_limit
        """

    static let claimable = Query(
        "SELECT \(columns), p.body, p.kept FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.id = ?1")
    static let claimableByTurn = Query(
        "SELECT \(columns), p.body, p.kept FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.turn = ?1")
    /// The columns that a claim changes, where `not_before` is 0 already.
    static let saveClaim = Query(
        """
        UPDATE command SET status = ?2, claim = ?3, seat = ?4, epoch = ?5, last = ?6, updated_at = ?7
        WHERE turn = ?1
        """)
    static let progress = Query("UPDATE command SET offset = ?2, total = ?3, updated_at = ?4 WHERE turn = ?1")
    /// Ends a command without a read. The conditions compare the row with what its claim left; see ``CachedClaim``.
    static let finishCached = Query(
        """
        UPDATE command SET status = 4, last = ?2, updated_at = ?3, offset = total
        WHERE turn = ?1 AND status = 2 AND claim = ?4 AND qos = ?5 AND last = ?6 AND suspect = 0
        AND cancel_requested = 0 AND ifnull(relations, 0) = ?7
        """)
    static let inFlight = Query(
        """
        SELECT \(claimedColumns) FROM command c INDEXED BY command_in_flight
        WHERE c.status IN (1, 2) ORDER BY c.turn
        """)
    static let inFlightOf = Query(
        """
        SELECT \(columns) FROM command c INDEXED BY command_in_flight
        WHERE c.status IN (1, 2) AND c.seat = ?1 AND c.epoch = ?2 ORDER BY c.turn
        """)
    static let cancellationRequests = Query(
        """
        SELECT \(claimedColumns) FROM command c INDEXED BY command_in_flight
        WHERE c.status IN (1, 2) AND c.cancel_requested = 1 ORDER BY c.turn
        """)
    static let setCheckpoint = Query("UPDATE payload SET kept = ?2 WHERE turn = ?1")
    static let dropCheckpoint = Query("UPDATE payload SET kept = NULL WHERE turn = ?1")
    static let hasLeftover = Query("SELECT 1 FROM leftover WHERE due <= ?1 LIMIT 1")
    static let leftovers = Query(
        """
        SELECT \(columns), p.body, p.kept FROM leftover l CROSS JOIN command c ON c.turn = l.turn
        CROSS JOIN payload p ON p.turn = l.turn WHERE l.due <= ?1 ORDER BY l.due LIMIT ?2
        """)
    static let recordLeftover = Query(
        "INSERT OR REPLACE INTO leftover(turn, due) SELECT turn, ?2 FROM payload WHERE turn = ?1 AND length(kept) > 0")
    static let dropLeftover = Query("DELETE FROM leftover WHERE turn = ?1")
    static let hastenLeftover = Query("UPDATE leftover SET due = 0 WHERE turn = ?1")
    static let hasSession = Query("SELECT 1 FROM session WHERE seat = ?1 AND epoch = ?2")
    static let sessions = Query("SELECT seat, epoch, pid, start_time, boot_id FROM session")
    static let openSession = Query(
        "INSERT OR REPLACE INTO session(seat, epoch, pid, start_time, boot_id) VALUES (?1, ?2, ?3, ?4, ?5)")
    static let closeSession = Query(
        """
        DELETE FROM session WHERE seat = ?1 AND epoch = ?2 AND NOT EXISTS
        (SELECT 1 FROM command WHERE status IN (1, 2) AND seat = ?1 AND epoch = ?2)
        """)
    static let deleteSession = Query("DELETE FROM session WHERE seat = ?1 AND epoch = ?2")
}
