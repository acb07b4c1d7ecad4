internal import GRDB
internal import GRDBSQLite
internal import Glibc

extension StoreError {
    /// An error of SQLite, without the shard, which ``Shard`` adds.
    init(sqlite code: CInt, on database: OpaquePointer?) {
        let text = database.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
        self.init(sqlite: code, text)
    }

    init(_ error: DatabaseError) {
        self.init(sqlite: error.extendedResultCode.rawValue, error.message ?? "no message")
    }

    init(sqlite code: CInt, _ text: String) {
        let kind: Code =
            switch code & 0xFF {
            case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
            case SQLITE_FULL: .full
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: .corrupt
            case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH, SQLITE_CANTOPEN: .permission
            case SQLITE_IOERR:
                switch code >> 8 {
                // READ, SHORT_READ, CORRUPTFS: the disk cannot read it, or the file ends too early.
                case 1, 2, 33: .corrupt
                // WRITE, FSYNC, DIR_FSYNC, TRUNCATE, SHMSIZE: a write failed.
                case 3, 4, 5, 6, 19: .full
                default: .failed
                }
            default: .failed
            }
        self.init(kind, text)
    }

    /// The same error as a sentence that names the shard.
    /// - Parameter writer: the process that holds the write lock, where it is known.
    func about(shard: Int, at path: String, writer: ShardWriter?) -> StoreError {
        guard self.shard == nil else { return self }
        let name = "Shard \(shard) (\(path))"
        let sentence: String
        switch code {
        case .busy: sentence = "\(name) \(ShardWriter.sentence(writer))."
        case .full: sentence = "\(name) could not be written: \(message); \(Self.roomAdvice)."
        case .corrupt: sentence = "\(name) is damaged: \(message); \(RestoreAdvice.shard(shard))."
        case .permission: sentence = "\(name) cannot be used: \(message)."
        case .failed: sentence = "\(name) failed: \(message)."
        case .missing, .foreign, .backup, .unsuitable, .moved, .unreachable, .unknown, .exhausted, .overloaded,
            .conflict, .invalid, .notFound, .ambiguous:
            return self
        }
        return StoreError(code, sentence, shard: shard, id: id)
    }

    /// Advice for a failed write. SQLite reports a full file system and a file size limit of the process
    /// alike.
    private static var roomAdvice: String {
        let limit = fileSizeLimit()
        let advice = "make room on its file system"
        return limit.map { "\(advice), or raise the file size limit of this process (\($0) bytes, ulimit -f)" }
            ?? advice
    }

    /// The file size limit of this process in bytes (`RLIMIT_FSIZE`); nil where there is none.
    private static func fileSizeLimit() -> UInt64? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max else {
            return nil
        }
        return UInt64(limit.rlim_cur)
    }
}

/// The remedy for a shard that is missing, damaged or another file, for the end of an error message.
package enum RestoreAdvice {
    package static func shard(_ number: Int) -> String {
        "stop every process on this data directory, then run “sluice restore DIR --shard \(number)” with the directory of "
            + "a backup"
    }

    static let store =
        "stop every process on this data directory, then run “sluice restore DIR” with the directory of a backup"
}
