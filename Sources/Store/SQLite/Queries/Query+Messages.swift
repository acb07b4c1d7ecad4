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
