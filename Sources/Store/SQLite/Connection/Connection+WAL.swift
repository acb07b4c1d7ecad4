internal import Commands
internal import GRDBSQLite

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension Connection {
    /// Runs `wal_checkpoint(PASSIVE)`.
    /// - Returns: frames in the WAL and frames copied, both -1 where another process checkpoints at this
    ///   moment.
    func checkpoint() throws(StoreError) -> (Int, Int) {
        var frames: Int32 = 0
        var copied: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(database, "main", SQLITE_CHECKPOINT_PASSIVE, &frames, &copied)
        guard code == SQLITE_OK || code == SQLITE_BUSY else { throw StoreError(sqlite: code, on: database) }
        return (Int(frames), Int(copied))
    }

    /// Fills a short WAL with zeros, through SQLite's own handle of the file, so that commits overwrite
    /// blocks instead of allocating them. That makes the sync of a commit a sixth faster, because the file
    /// system has no allocation to record: 0.19 and 0.25 ms instead of 0.23 and 0.30 (ext4, medians of 600,
    /// 2026-11-22). SQLite ignores frames of zeros.
    ///
    /// Errors are ignored: only speed is lost.
    /// - Precondition: this connection is in a write transaction, so that no other appends to the WAL.
    func preallocateWAL() {
        var space = statvfs()
        guard statvfs(sqlite3_db_filename(database, "main"), &space) == 0, space.f_frsize > 0,
            space.f_bavail > WALSize.reservedSpace / space.f_frsize
        else { return }
        var handle: UnsafeMutablePointer<sqlite3_file>?
        var size: Int64 = 0
        guard sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &handle) == SQLITE_OK, let handle,
            let file = handle.pointee.pMethods?.pointee, file.xFileSize(handle, &size) == SQLITE_OK,
            size < WALSize.preallocated
        else { return }
        // SQLite's limit for one write is 128 kB.
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var end = size
        while end < WALSize.preallocated {
            let count = min(Int64(zeros.count), WALSize.preallocated - end)
            guard file.xWrite(handle, zeros, Int32(count), end) == SQLITE_OK else { break }
            end += count
        }
        let isSynced = file.xSync(handle, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY) == SQLITE_OK
        if end < WALSize.preallocated || !isSynced { _ = file.xTruncate(handle, size) }
    }
}
