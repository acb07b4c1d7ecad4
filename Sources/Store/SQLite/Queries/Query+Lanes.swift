/// The statements of ordering keys.
extension Query {
    static let lane = Query("SELECT key, max, open, holder FROM lane WHERE key = ?1")
    static let saveLane = Query("INSERT OR REPLACE INTO lane(key, max, open, holder) VALUES (?1, ?2, ?3, ?4)")
    static let removeLane = Query("DELETE FROM lane WHERE key = ?1")
    static let lanesAfter = Query(
        "SELECT key, max, open, holder FROM lane WHERE ?1 IS NULL OR key > ?1 ORDER BY key LIMIT ?2")
    static let addWaiter = Query("INSERT OR IGNORE INTO waiter(key, turn) VALUES (?1, ?2)")
    static let removeWaiter = Query("DELETE FROM waiter WHERE key = ?1 AND turn = ?2")
    static let firstWaiter = Query("SELECT turn FROM waiter WHERE key = ?1 ORDER BY turn LIMIT 1")
    static let isWaiter = Query("SELECT 1 FROM waiter WHERE key = ?1 AND turn = ?2")
    static let waitersBetween = Query(
        "SELECT turn FROM waiter WHERE key = ?1 AND turn > ?2 AND turn < ?3 ORDER BY turn LIMIT ?4")
    static let nearestWaiter = Query(
        "SELECT turn FROM waiter WHERE key = ?1 AND turn < ?2 ORDER BY turn DESC LIMIT 1")
    static let waitersBefore = Query("SELECT count(*) FROM waiter WHERE key = ?1 AND turn < ?2")
}
