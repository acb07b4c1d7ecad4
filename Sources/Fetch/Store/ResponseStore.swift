internal import Commands
internal import GRDB
internal import Glibc
internal import Host

/// The responses that `fetch` keeps: an index in SQLite, and a file for each body of more than 64 KiB.
///
/// ```
/// <data>/cache/                          0700
///   index.sqlite                         a row for each response, with the smaller bodies
///   body/<2 hex>/<sha256>                the larger bodies; equal ones share a file
///   body/.<uuid>.<claim>.part            a body that is arriving
/// ```
///
/// A row is committed once its body is whole. Bodies are published and deleted within the transaction that
/// writes the index, so that no process deletes a file that another one has just named. The index is a cache:
/// one that is damaged, or of another version, is made anew.
///
/// Every call blocks. Several processes may have the store open.
package final class ResponseStore: Sendable {
    /// `PRAGMA user_version`.
    static let version = 1
    /// The maximum bytes of a body in the index.
    static let maxInlineBody = 64 << 10
    /// Bytes that a row counts beside its body.
    private static let rowOverhead = 1024
    /// Responses of one URL and partition that are looked at.
    private static let maxVariants = 64
    /// A response that was used this recently is not marked again.
    private static let usedStep: Duration = .seconds(60)

    /// `<data>/cache`
    package let directory: String
    let maxBytes: Int64
    private let queue: DatabaseQueue

    /// Opens the store, and makes it where it does not exist.
    /// - Parameters:
    ///   - directory: `<data>/cache`; its parent exists.
    ///   - maxBytes: of all responses; the least recently used are deleted first. The default is 1 GiB.
    /// - Throws: ``ResponseStoreError``
    package init(directory: String, maxBytes: Int64 = 1 << 30) throws {
        self.directory = directory
        self.maxBytes = maxBytes
        for path in [directory, "\(directory)/body"] {
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw ResponseStoreError("cannot create the directory \(path): \(String(cString: strerror(errno)))")
            }
        }
        let path = "\(directory)/index.sqlite"
        do {
            queue = try Self.open(path)
        } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
            for ending in ["", "-wal", "-shm"] { unlink(path + ending) }
            do { queue = try Self.open(path) } catch { throw ResponseStoreError(error, path) }
        } catch {
            throw ResponseStoreError(error, path)
        }
    }

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 0")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { db in
            guard try Int.fetchOne(db, sql: "PRAGMA user_version") != version else { return }
            try db.execute(sql: ResponseSchema.make)
            try db.execute(sql: "PRAGMA user_version = \(version)")
        }
        return queue
    }

    // MARK: Reading

    /// The responses to requests for one URL in one partition.
    func variants(url: String, partition: String) throws -> [StoredBody] {
        try queue.read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM response WHERE url = ? AND partition = ? LIMIT \(Self.maxVariants)",
                arguments: [url, partition]
            ).compactMap { StoredBody($0, in: directory) }
        }
    }

    /// The responses by URL.
    /// - Parameter url: the only one to list, in the form of ``CacheKey/url(_:)``; nil: all.
    /// - Returns: at most `limit`, after the row `after`.
    func list(url: String? = nil, after: Int64 = 0, limit: Int) throws -> [StoredBody] {
        try queue.read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM response WHERE id > ? AND (? IS NULL OR url = ?) ORDER BY id LIMIT ?",
                arguments: [after, url, url, limit]
            ).compactMap { StoredBody($0, in: directory) }
        }
    }

    /// Responses, and their bytes.
    package func usage() throws -> (count: Int, bytes: Int64) {
        try queue.read { db in
            let row = try Row.fetchOne(db, sql: "SELECT count, bytes FROM usage")
            return (row?["count"] ?? 0, row?["bytes"] ?? 0)
        }
    }

    // MARK: Writing

    /// Makes the change of an exchange.
    /// - Parameter body: of a response that is new; nil where the stored body stays.
    func apply(_ change: StoreChange, body: ReceivedBody?) throws {
        switch change {
        case .none: body?.discard()
        case .remove(let key):
            body?.discard()
            try queue.write { db in try delete(db, key) }
        case .write(let response, let replaced):
            try queue.write { db in
                if let replaced, body == nil {
                    // A 304 has changed the request headers that the response varies by.
                    try delete(db, response.key)
                    try ResponseSchema.update(response, from: replaced, db)
                } else if let body {
                    for key in [replaced, response.key].compactMap(\.self) { try delete(db, key) }
                    let inline = try body.publish(as: path(of: response.sha256))
                    try ResponseSchema.insert(response, body: inline, db)
                } else {
                    try ResponseSchema.update(response, from: response.key, db)
                }
                try evict(db)
            }
        }
    }

    private func delete(_ db: Database, _ key: CacheKey) throws {
        try delete(db, where: "url = ? AND partition = ? AND vary = ?", key.arguments)
    }

    /// Marks a response as used.
    func used(_ key: CacheKey, lastUse: Timestamp, now: Timestamp) throws {
        guard now - lastUse > Self.usedStep else { return }
        try queue.write { db in
            try db.execute(
                sql: "UPDATE response SET used_at = ? WHERE url = ? AND partition = ? AND vary = ?",
                arguments: [now.milliseconds] + key.arguments)
        }
    }

    /// An unsafe request to these URLs succeeded (RFC 9111, section 4.4).
    func invalidate(_ urls: [String], now: Timestamp) throws {
        guard !urls.isEmpty else { return }
        try queue.write { db in
            for url in urls {
                try db.execute(
                    sql: """
                        UPDATE response SET flags = flags | ?, fresh_until = min(fresh_until, ?),
                        stale_error_until = min(stale_error_until, ?), stale_while_until = min(stale_while_until, ?)
                        WHERE url = ?
                        """,
                    arguments: [
                        StoredFlags.invalidated.rawValue, now.milliseconds, now.milliseconds, now.milliseconds, url,
                    ])
            }
        }
    }

    /// Deletes responses.
    /// - Parameter url: in the form of ``CacheKey/url(_:)``; nil: all.
    /// - Returns: the number of deleted responses.
    func forget(url: String?) throws -> Int {
        try queue.write { db in try delete(db, where: "? IS NULL OR url = ?", [url, url]) }
    }

    /// Deletes rows, and the bodies that no other row has.
    @discardableResult
    private func delete(_ db: Database, where condition: String, _ arguments: StatementArguments) throws -> Int {
        let files = try String.fetchAll(
            db, sql: "SELECT DISTINCT sha256 FROM response WHERE body IS NULL AND (\(condition))", arguments: arguments)
        try db.execute(sql: "DELETE FROM response WHERE \(condition)", arguments: arguments)
        let count = db.changesCount
        for sha256 in files {
            let others = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM response WHERE body IS NULL AND sha256 = ?", arguments: [sha256])
            if others == 0 { unlink(path(of: sha256)) }
        }
        return count
    }

    /// Deletes the least recently used responses until the others fit.
    private func evict(_ db: Database) throws {
        while true {
            let row = try Row.fetchOne(db, sql: "SELECT count, bytes FROM usage")
            let count: Int64 = row?["count"] ?? 0
            let bytes: Int64 = row?["bytes"] ?? 0
            guard count > 1, bytes + count * Int64(Self.rowOverhead) > maxBytes else { return }
            try delete(
                db, where: "id IN (SELECT id FROM response ORDER BY used_at LIMIT ?)", [max(min(count / 16, 32), 1)])
        }
    }

    /// Deletes the file of a body, unless a row names it.
    /// - Returns: whether it was deleted.
    func removeUnnamed(_ sha256: String, _ path: String) throws -> Bool {
        try queue.write { db in
            let rows = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM response WHERE body IS NULL AND sha256 = ?", arguments: [sha256])
            return rows == 0 && unlink(path) == 0
        }
    }

    func path(of sha256: String) -> String { "\(directory)/body/\(sha256.prefix(2))/\(sha256)" }
}

extension ResponseStore {
    /// The minimum age of a file that is deleted: a younger one may be in the hands of another process.
    package static let leftoverAge = 86_400

    /// Deletes the bodies that no row names, and those that were arriving when their worker died. A part that a worker
    /// writes is locked: its age says nothing where the wall clock has jumped.
    /// - Parameter age: the minimum age of a file in seconds.
    /// - Returns: the number of files.
    @discardableResult
    package func sweep(olderThan age: Int = leftoverAge) throws -> Int {
        var count = 0
        let bodies = "\(directory)/body"
        for name in Self.names(in: bodies) {
            let path = "\(bodies)/\(name)"
            if name.hasSuffix(".part") {
                if Self.isOld(path, age), FreeLock(path: path) != nil, unlink(path) == 0 { count += 1 }
                continue
            }
            for sha256 in Self.names(in: path) where Self.isOld("\(path)/\(sha256)", age) {
                if try removeUnnamed(sha256, "\(path)/\(sha256)") { count += 1 }
            }
        }
        return count
    }

    private static func isOld(_ path: String, _ age: Int) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && time(nil) - status.st_mtim.tv_sec >= age
    }

    private static func names(in path: String) -> [String] {
        guard let listing = opendir(path) else { return [] }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let name else { continue }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

extension ResponseStore {
    /// The condition of the stored responses.
    package enum Condition: Sendable, Equatable {
        /// No response was ever stored.
        case missing
        case sound(responses: Int)
        /// The next fetch begins with an empty store. A sentence.
        case lost(String)
        /// A sentence.
        case unreadable(String)
    }

    /// Checks the index of a directory, and changes nothing: opening a store would replace a damaged one.
    package static func condition(of directory: String) -> Condition {
        let path = "\(directory)/index.sqlite"
        guard access(path, F_OK) == 0 else { return .missing }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA mmap_size = 0") }
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            return try queue.read { db in
                if let first = try String.fetchAll(db, sql: "PRAGMA integrity_check").first, first != "ok" {
                    return .lost("the responses in \(path) are corrupt: \(first); delete it, and fetch asks again")
                }
                guard try Int.fetchOne(db, sql: "PRAGMA user_version") == version else {
                    return .lost("the responses in \(path) are of another version; the next fetch begins anew")
                }
                return .sound(responses: try Int.fetchOne(db, sql: "SELECT count FROM usage") ?? 0)
            }
        } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
            return .lost("the responses in \(path) are damaged; the next fetch begins anew")
        } catch {
            return .unreadable("\(ResponseStoreError(error, path))")
        }
    }
}
