/// The statements of settings.
extension Query {
    static let setting = Query("SELECT key, value FROM setting WHERE substr(key, 1, length(?1)) = ?1")
    static let settingOf = Query("SELECT value FROM setting WHERE key = ?1")
    static let setSetting = Query("INSERT OR REPLACE INTO setting(key, value) VALUES (?1, ?2)")
    static let removeSetting = Query("DELETE FROM setting WHERE key = ?1")
}
