/// The statements of schedules.
extension Query {
    private static let scheduleColumns =
        "name, definition, action, since, next, last, last_id, fired, skipped, paused, reason, configured"

    /// ?1 is a time that only a clock that was set back since has passed; ?2 the name of the last that was read.
    private static let heldBySchedule =
        "FROM schedule WHERE paused = 0 AND (reason IS NOT NULL AND next IS NULL OR since > ?1) AND name > ?2"

    static let schedule = Query("SELECT \(scheduleColumns) FROM schedule WHERE name = ?1")
    static let allSchedules = Query("SELECT \(scheduleColumns) FROM schedule ORDER BY name")
    static let schedulesAfter = Query(
        "SELECT \(scheduleColumns) FROM schedule WHERE name > ?1 AND paused = 0 ORDER BY name LIMIT ?2")
    static let dueSchedules = Query(
        """
        SELECT \(scheduleColumns) FROM schedule WHERE next IS NOT NULL AND next <= ?1 ORDER BY next LIMIT ?2
        """)
    static let hasDueSchedule = Query("SELECT 1 FROM schedule WHERE next IS NOT NULL AND next <= ?1 LIMIT 1")
    static let heldSchedules = Query("SELECT \(scheduleColumns) \(heldBySchedule) ORDER BY name LIMIT ?3")
    static let hasHeldSchedule = Query("SELECT 1 \(heldBySchedule) LIMIT 1")
    static let hasSchedule = Query("SELECT 1 FROM schedule WHERE name > ?1 AND paused = 0 LIMIT 1")
    static let saveSchedule = Query(
        """
        INSERT OR REPLACE INTO schedule(\(scheduleColumns))
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
        """)
    static let holdSchedule = Query("UPDATE schedule SET next = NULL, reason = ?2 WHERE name = ?1")
    static let removeSchedule = Query("DELETE FROM schedule WHERE name = ?1")
}
