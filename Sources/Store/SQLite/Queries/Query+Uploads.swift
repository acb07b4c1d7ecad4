/// The statements of uploads.
extension Query {
    private static let uploadColumns = """
        id, state, offset, length, facts, created_at, updated_at, due, command, storage, reason, idempotency_key, \
        fingerprint
        """

    static let upload = Query("SELECT \(uploadColumns) FROM upload WHERE id = ?1")
    static let uploadByKey = Query(
        """
        SELECT \(uploadColumns) FROM upload WHERE idempotency_key IS NOT NULL AND idempotency_key = ?1
        """)
    static let insertUpload = Query(
        """
        INSERT INTO upload(\(uploadColumns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        """)
    static let saveUpload = Query(
        """
        UPDATE upload SET state = ?2, offset = ?3, length = ?4, updated_at = ?5, due = ?6, command = ?7, storage = ?8,
        reason = ?9, idempotency_key = ?10, fingerprint = ?11 WHERE id = ?1
        """)
    static let removeUpload = Query("DELETE FROM upload WHERE id = ?1")
    static let uploadsAfter = Query("SELECT \(uploadColumns) FROM upload WHERE id > ?1 ORDER BY id LIMIT ?2")
    static let uploadsBefore = Query("SELECT \(uploadColumns) FROM upload WHERE id < ?1 ORDER BY id DESC LIMIT ?2")
    static let openUploadsAfter = Query(
        "SELECT \(uploadColumns) FROM upload WHERE state = 0 AND id > ?1 ORDER BY id LIMIT ?2")
    static let openUploadsBefore = Query(
        "SELECT \(uploadColumns) FROM upload WHERE state = 0 AND id < ?1 ORDER BY id DESC LIMIT ?2")
    static let dueUploads = Query(
        "SELECT \(uploadColumns) FROM upload WHERE due IS NOT NULL AND due <= ?1 ORDER BY due LIMIT ?2")
    static let uploadBody = Query("SELECT body FROM upload_body WHERE upload = ?1")
    static let insertUploadBody = Query("INSERT INTO upload_body(upload, body) VALUES (?1, ?2)")
    static let removeUploadBody = Query("DELETE FROM upload_body WHERE upload = ?1")
    static let isOlderThanSpool = Query("SELECT count(*) FROM meta WHERE key = 'olderThanSpool'")
    static let noteSpoolCompared = Query("DELETE FROM meta WHERE key = 'olderThanSpool'")
}
