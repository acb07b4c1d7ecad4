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
