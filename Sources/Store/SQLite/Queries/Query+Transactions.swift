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
