package import Commands
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Why a store could not do something: a code for the program, and a sentence for a person.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// There is no store in the directory, or a shard of it is missing.
        case missing
        /// The file is not a Sluice store, or has a newer version than this program knows.
        case foreign
        /// The store is a backup: it can be read, and is restored before anything runs on it.
        case backup
        /// Nothing runs on the directory where it is: its file system lacks locks or shared memory, or it is a copy of
        /// another data directory.
        case unsuitable
        /// A wrong owner or mode, or any other refusal of the operating system.
        case permission
        /// The store was moved to another data directory, and this one has lost it for good.
        case moved
        /// Another process held the lock for longer than the timeout. Try again.
        case busy
        /// The server of the store has not answered for the timeout of the call: that of a write, or 10 s. Try again.
        case unreachable
        /// The answer to a commit never came: its changes are all durable, or none is. See ``CommitAttempt``.
        case unknown
        /// The file system is full, or a write failed.
        case full
        /// SQLite says that the file is damaged.
        case corrupt
        /// The process or the machine has no descriptors or memory left. Try again.
        case exhausted
        /// The WAL is larger than its limit because a process keeps it from being started over. Try again.
        case overloaded
        /// The unique key is held by a command with another payload or destination.
        case conflict
        /// A value that a store does not take: payload, type, limit.
        case invalid
        /// There is no command with that id.
        case notFound
        /// A part of an id names more than one command.
        case ambiguous
        /// Anything else that SQLite reports.
        case failed

        /// Whether the shard cannot be used for anything until a person repairs it.
        package var makesShardUnusable: Bool {
            switch self {
            case .corrupt, .foreign, .missing: true
            case .backup, .unsuitable, .permission, .moved, .busy, .unreachable, .unknown, .full, .exhausted,
                .overloaded, .conflict, .invalid, .notFound, .ambiguous, .failed:
                false
            }
        }
    }

    package var code: Code
    package var message: String
    /// The shard that the error is about; nil where it is about the whole store.
    package var shard: Int?
    /// The command that the error is about, where there is one.
    package var id: CommandID?

    package init(_ code: Code, _ message: String, shard: Int? = nil, id: CommandID? = nil) {
        self.code = code
        self.message = message
        self.shard = shard
        self.id = id
    }

    package var description: String { message }
}

extension StoreError {
    /// The server of a store is away.
    /// - Parameters:
    ///   - store: the location of the store, without a password.
    ///   - reason: the last failure of an attempt, without a full stop.
    ///   - timeout: the time in which no attempt succeeded.
    package static func unreachable(_ store: String, _ reason: String, after timeout: Duration) -> StoreError {
        StoreError(
            .unreachable,
            "The store \(store) has not answered for \(timeout.components.seconds) s (\(reason)); check that its server "
                + "runs and that this machine reaches it, then try again.")
    }

    /// The answer to a commit never came.
    /// - Parameters:
    ///   - store: the location of the store, without a password.
    ///   - reason: why not, without a full stop.
    package static func unknownOutcome(_ store: String, _ reason: String, shard: Int? = nil) -> StoreError {
        StoreError(
            .unknown,
            "The store \(store) has not answered a commit (\(reason)), so it is not known whether the change was made; look, and "
                + "make it again where it is missing.", shard: shard)
    }

    /// A system call that failed.
    package init(_ error: SystemError) {
        let code: Code =
            switch error.code {
            case ENOSPC, EDQUOT, EIO, EFBIG: .full
            case ENOENT: .missing
            case EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN, EINTR: .exhausted
            default: .permission
            }
        let sentence = "\(error)"
        self.init(code, "\(sentence.prefix(1).uppercased())\(sentence.dropFirst()).")
    }

    static func backup(in directory: DataDirectory, of time: Timestamp, shard: Int? = nil) -> StoreError {
        StoreError(
            .backup,
            "\(directory.path) is a backup of \(time), which can only be read; “sluice restore \(directory.path)” puts it "
                + "into a data directory.", shard: shard)
    }

    static func noCommand(_ id: CommandID) -> StoreError {
        StoreError(.notFound, "There is no command \(id).", id: id)
    }
}

/// Which errors of the store are worth a log line. Pure.
///
/// A damaged shard stays damaged until a person mends it, so its error is logged once. Every other cause is logged once a
/// minute, because a write is tried again several times a second: a shard that another process keeps locked, a full disk
/// or a server that is away, whichever shard meets it, and any other message.
package struct StoreErrorLog: Sendable {
    /// Messages of damaged shards.
    private var logged: Set<String> = []
    /// When each cause was logged last; those of the last minute.
    private var loggedAt: [String: MonotonicTime] = [:]

    package static let interval: Duration = .seconds(60)

    package init() {}

    package mutating func isNew(_ error: StoreError, now: MonotonicTime) -> Bool {
        if error.code.makesShardUnusable { return logged.insert(error.message).inserted }
        let cause =
            switch error.code {
            case .full: "full"
            case .unknown: "unknown"
            case .unreachable: "unreachable"
            case .busy: "busy \(error.shard ?? -1)"
            default: error.message
            }
        loggedAt = loggedAt.filter { now - $0.value < Self.interval }
        guard loggedAt[cause] == nil else { return false }
        loggedAt[cause] = now
        return true
    }
}
