package import Commands

/// What a store could not do: a code to decide by, and a sentence to read.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// There is no store in the directory, or a shard of it is missing.
        case missing
        /// The file is no Sluice store, or of a newer version.
        case foreign
        /// A wrong owner or mode, or the operating system refused.
        case permission
        /// Somebody held the lock for longer than the deadline. Try again.
        case busy
        /// The file system is full, or a write failed.
        case full
        /// SQLite says that the file is damaged.
        case corrupt
        /// The process or the machine has no descriptors or memory left. Try again.
        case exhausted
        /// The WAL has outgrown its limit because somebody holds it. Try again.
        case overloaded
        /// The unique key is held by a command with another payload or destination.
        case conflict
        /// A value that the contract does not allow: payload, type, limit.
        case invalid
        /// There is no command of that id.
        case notFound
        /// Anything else that SQLite reports.
        case failed

        /// The shard concerned is of no use, whatever is asked of it, until a person mends it.
        package var spoilsShard: Bool {
            switch self {
            case .corrupt, .foreign, .missing: true
            case .permission, .busy, .full, .exhausted, .overloaded, .conflict, .invalid, .notFound, .failed: false
            }
        }
    }

    package var code: Code
    package var message: String
    /// The shard concerned, where one is.
    package var shard: Int?
    /// The command concerned, where one is.
    package var id: CommandID?

    package init(_ code: Code, _ message: String, shard: Int? = nil, id: CommandID? = nil) {
        self.code = code
        self.message = message
        self.shard = shard
        self.id = id
    }

    package var description: String { message }
}
