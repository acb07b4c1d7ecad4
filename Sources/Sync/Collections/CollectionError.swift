internal import Commands
internal import GRDB
package import Host

/// A collection cannot be read or written.
package struct CollectionError: Error, CustomStringConvertible {
    package enum Problem: String, Sendable {
        /// There is no collection of that name.
        case missing
        /// The file belongs to another program, or to a newer version of this one.
        case foreign
        case damaged
        /// Another process writes to it.
        case busy
        /// The file system refuses: no space, or a permission.
        case system
        /// Rows differ from what the staged pages were compared with: another program has written.
        case changed
        /// A query that SQLite does not accept, or a value that the collection cannot have.
        case invalid
    }

    package let problem: Problem
    /// A sentence.
    package let description: String

    init(_ problem: Problem, _ description: String) {
        self.problem = problem
        self.description = description
    }

    package init(_ error: SystemError) { self.init(.system, "\(error)") }

    init(_ error: any Error, _ path: String) {
        switch error {
        case let error as CollectionError: self = error
        case let error as SystemError: self.init(error)
        case let error as DatabaseError: self.init(database: error, path)
        case is RowDecodingError:
            self.init(.damaged, "the collection \(path) has a value of another type than Sluice writes; \(Self.remedy)")
        default: self.init(.system, "cannot use the collection \(path): \(error.words)")
        }
    }

    private static let remedy = "move it and its -wal and -shm away, and sync again"

    private init(database error: DatabaseError, _ path: String) {
        let words = error.message ?? "error \(error.resultCode.rawValue) of SQLite"
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            self.init(
                .damaged,
                "the collection \(path) is damaged: \(words); \(Self.remedy)")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.busy, "another process writes to the collection \(path); try again when it has ended")
        case .SQLITE_ERROR: self.init(.invalid, words)
        case .SQLITE_FULL: self.init(.system, "cannot write the collection \(path): \(words); make room")
        default: self.init(.system, "cannot use the collection \(path): \(words)")
        }
    }

    /// The failure of a command. Waiting may mend a full disk.
    var failure: CommandFailure {
        switch problem {
        case .missing, .foreign, .damaged, .invalid: CommandFailure(.final, reason: description)
        case .busy, .system, .changed: CommandFailure(.command, reason: description, retryAfter: .seconds(60))
        }
    }
}
