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
