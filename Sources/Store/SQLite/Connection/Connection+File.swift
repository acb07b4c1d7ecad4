internal import CLinux
internal import GRDBSQLite
internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The file of a shard: whether it was replaced, and its bytes. They are read through SQLite's own handle,
/// because a process that closes another descriptor of the file loses its locks on it (fcntl(2)).
extension Connection {
    /// Whether the path leads to another file than the one that is open, or to none.
    var isFileReplaced: Bool {
        var hasMoved: CInt = 0
        return sqlite3_file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved) == SQLITE_OK && hasMoved != 0
    }

    /// - Throws: `.foreign` where the file was removed or replaced: commits to it would be lost.
    func refuseReplacedFile() throws(StoreError) {
        guard isFileReplaced else { return }
        throw Self.replaced(shard, sqlite3_db_filename(database, "main").map { String(cString: $0) })
    }

    static func replaced(_ shard: Int, _ path: String?) -> StoreError {
        StoreError(
            .foreign,
            "The file of shard \(shard) (\(path ?? "")) was removed or replaced while processes use it, so nothing is "
                + "written to it any more; \(RestoreAdvice.shard(shard)).", shard: shard)
    }

    // MARK: Bytes

    /// The size of the database file, without its WAL.
    func fileSize() throws(StoreError) -> Int64 {
        try withFile(SQLITE_FCNTL_FILE_POINTER) { file, methods throws(StoreError) in try size(file, methods) }
    }

    /// Reads bytes of the database file, not of its WAL. A page that a checkpoint writes at this moment may be
    /// torn.
    /// - Returns: false where the file ends before.
    func readFile(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StoreError) -> Bool {
        try withFile(SQLITE_FCNTL_FILE_POINTER) { file, methods throws(StoreError) in
            try read(buffer, at: offset, file, methods)
        }
    }

    /// The pages that the WAL has: all that commits have changed since it was started over, and maybe some
    /// that a rolled back transaction has.
    /// - Precondition: this connection is in a write transaction, so that no other appends to the WAL.
    func pagesInWAL() throws(StoreError) -> Set<UInt32> {
        try withFile(SQLITE_FCNTL_JOURNAL_POINTER) { file, methods throws(StoreError) in
            var pages: Set<UInt32> = []
            let size = try size(file, methods)
            // The head has the page size at 8 and the salts at 16; each frame the page at 0 and the salts at 8.
            var head = [UInt8](repeating: 0, count: 32)
            guard size > 32, try read(into: &head, at: 0, file, methods) else { return [] }
            let pageSize = Int64(Self.number(head, 8))
            guard (512...65_536).contains(pageSize) else { return [] }
            var frame = [UInt8](repeating: 0, count: 24)
            var offset: Int64 = 32
            while offset + 24 + pageSize <= size, try read(into: &frame, at: offset, file, methods),
                frame[8..<16] == head[16..<24]
            {
                pages.insert(Self.number(frame, 0))
                offset += 24 + pageSize
            }
            return pages
        }
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private typealias File = UnsafeMutablePointer<sqlite3_file>

    private func withFile<Value>(
        _ operation: CInt, _ body: (File, sqlite3_io_methods) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        var handle: File?
        guard sqlite3_file_control(database, "main", operation, &handle) == SQLITE_OK, let handle,
            let methods = handle.pointee.pMethods?.pointee
        else { throw StoreError(.failed, "SQLite gave no file") }
        return try body(handle, methods)
    }

    private func size(_ file: File, _ methods: sqlite3_io_methods) throws(StoreError) -> Int64 {
        var size: Int64 = 0
        let code = methods.xFileSize(file, &size)
        guard code == SQLITE_OK else { throw StoreError(sqlite: code, on: nil) }
        return size
    }

    private func read(
        into bytes: inout [UInt8], at offset: Int64, _ file: File, _ methods: sqlite3_io_methods
    ) throws(StoreError) -> Bool {
        let code = bytes.withUnsafeMutableBytes { methods.xRead(file, $0.baseAddress, CInt($0.count), offset) }
        return try Self.isWhole(code)
    }

    private func read(
        _ buffer: UnsafeMutableRawBufferPointer, at offset: Int64, _ file: File, _ methods: sqlite3_io_methods
    ) throws(StoreError) -> Bool {
        try Self.isWhole(methods.xRead(file, buffer.baseAddress, CInt(buffer.count), offset))
    }

    private static func isWhole(_ code: CInt) throws(StoreError) -> Bool {
        // SQLITE_IOERR_SHORT_READ, a macro that Swift does not import.
        if code == SQLITE_IOERR | 2 << 8 { return false }
        guard code == SQLITE_OK else { throw StoreError(sqlite: code, on: nil) }
        return true
    }
}

/// The pages that checkpoints write into the file of a shard while a backup copies it: `run/changes-NN`, four
/// bytes a page. The backup copies them again, so that it need not keep the WAL from being started over.
///
/// A process that checkpoints records the pages first, under the write lock. Without the file there is no
/// backup and nothing to record. A file without its lock is of a backup that was killed.
final class PageChanges {
    private let path: String
    private let descriptor: CInt
    /// Bytes that ``take()`` has returned.
    private var position: off_t = 0

    private init(path: String, descriptor: CInt) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        unlink(path)
        close(descriptor)
    }

    /// Makes the file, from which on checkpoints are recorded.
    /// - Precondition: the caller is in a write transaction of the shard, so that no checkpoint is running.
    /// - Returns: nil where another backup has the file.
    static func begin(in run: RunDirectory, shard: Int) throws(SystemError) -> PageChanges? {
        let path = run.changes(shard: shard)
        let descriptor = try openFile(path, O_RDWR | O_CREAT | O_APPEND)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, FileIdentity(of: descriptor) == FileIdentity(at: path) else {
            close(descriptor)
            return nil
        }
        ftruncate(descriptor, 0)
        return PageChanges(path: path, descriptor: descriptor)
    }

    /// The pages that were recorded since the last call.
    /// - Precondition: the caller is in a write transaction of the shard, so that no checkpoint is running.
    /// - Returns: nil where a checkpoint could not be recorded.
    func take() throws(SystemError) -> Set<UInt32>? {
        guard let identity = FileIdentity(at: path), identity == FileIdentity(of: descriptor) else { return nil }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw SystemError("stat", path) }
        var pages = [UInt32](repeating: 0, count: Int((facts.st_size - position) / 4))
        let count = pages.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, position) }
        guard count == pages.count * 4 else { throw SystemError("read", path) }
        position += off_t(count)
        return Set(pages)
    }

    /// Records the pages that a checkpoint is about to write, where a backup copies the shard.
    /// - Precondition: `connection` is in a write transaction.
    /// - Throws: where they can be neither recorded nor the file be removed. Then there must be no checkpoint.
    static func record(in run: RunDirectory, _ connection: Connection) throws(StoreError) {
        let path = run.changes(shard: connection.shard)
        let descriptor = clinux_open(path, O_WRONLY | O_APPEND | O_CLOEXEC, 0)
        guard descriptor >= 0 else {
            guard errno != ENOENT else { return }
            throw StoreError(SystemError("open", path))
        }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
            let pages = try Array(connection.pagesInWAL())
            let count = pages.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count == pages.count * 4 { return }
        }
        // Left by a backup that was killed; or the backup notices that it is gone, and copies in another way.
        guard unlink(path) == 0 || errno == ENOENT else { throw StoreError(SystemError("remove", path)) }
    }
}
