internal import GRDB
internal import Glibc

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
