internal import FlowText
internal import Host
package import Operations
package import Store
package import ZeroMQ

/// An error of the library: a code for programs, and a sentence for people.
public struct SluiceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of an error, for decisions of a program.
    public enum Code: Sendable, Equatable, CaseIterable {
        /// There is no store in the directory, or a part of it is missing.
        case noStore
        /// The files are not a store of Sluice, are of a newer version, or are a backup, which is restored before
        /// anything is written to it.
        case foreignStore
        /// The directory cannot be used where it is: its file system lacks locks or shared memory, or it is a copy of
        /// another data directory.
        case unsuitable
        /// The directory has another owner or an open mode, or the operating system refused.
        case notPermitted
        /// The same call may succeed later. Another process has locked the store for 10 s, the server of the store has not
        /// answered for 10 s, descriptors or memory are exhausted, or a process keeps the WAL of a shard above 512 MiB. Or a
        /// source cannot be opened now.
        case tryAgain
        /// The file system is full, or a write failed.
        case cannotWrite
        /// The store is damaged.
        case corrupt
        /// A command with another payload or destination holds the unique key: `id` is that command, and the
        /// message says for how long it holds the key.
        case conflict
        /// A value that is not allowed: data directory, payload, type, limit, concurrency.
        case invalid
        /// A payload names a source that is missing, unreadable or not a regular file.
        case source
        /// A payload contains a malformed URL or an unknown scheme.
        case usage
        /// There is no command with that id.
        case noSuchCommand
        /// A part of an id is a part of several; the message lists up to five of them.
        case ambiguous
        /// There is no collection of that name.
        case noSuchCollection
        /// The status of the command does not allow the change.
        case notAllowed
        /// Anything else.
        case failed
    }

    /// The kind of the error. Decide by it and not by the message, whose words may change.
    public var code: Code
    /// A sentence that says what happened, to what, and mostly what to do.
    public var message: String
    /// The command that the error is about; nil where it is about no command.
    public var id: CommandID?

    /// Makes an error.
    /// - Parameters:
    ///   - code: the code for programs.
    ///   - message: the sentence for people.
    ///   - id: the command that the error is about. The default is nil.
    public init(_ code: Code, _ message: String, id: CommandID? = nil) {
        self.code = code
        self.message = message
        self.id = id
    }

    /// The ``message``.
    public var description: String { message }
}

extension SluiceError {
    /// Any error of a verb or a reading.
    package init(_ error: any Error) { self = Self.known(error) ?? SluiceError(.failed, "\(error)") }

    /// Whether an error is of the queue, or of what is below it, so that it has a sentence for people.
    package static func isKnown(_ error: any Error) -> Bool { known(error) != nil }

    private static func known(_ error: any Error) -> SluiceError? {
        switch error {
        case let error as SluiceError: error
        case let error as StoreError: SluiceError(error)
        case let error as SystemError: SluiceError(StoreError(error))
        case let error as PayloadError: SluiceError(error)
        case let error as FlowError: SluiceError(error)
        case let error as ScheduleBuildError: SluiceError(SluiceError(error.cause).code, error.description)
        case let error as ZeroMQError: SluiceError(error)
        default: nil
        }
    }

    package init(_ error: StoreError) {
        let code: Code =
            switch error.code {
            case .missing: .noStore
            case .foreign, .backup: .foreignStore
            case .unsuitable: .unsuitable
            case .permission, .moved: .notPermitted
            case .busy, .unreachable, .unknown, .exhausted, .overloaded: .tryAgain
            case .full: .cannotWrite
            case .corrupt: .corrupt
            case .conflict: .conflict
            case .invalid: .invalid
            case .notFound: .noSuchCommand
            case .ambiguous: .ambiguous
            case .failed: .failed
            }
        self.init(code, error.message, id: error.id)
    }

    package init(_ error: PayloadError) {
        let code: Code =
            switch error.problem {
            case .data: .invalid
            case .source: .source
            case .passing: .tryAgain
            case .usage: .usage
            }
        self.init(code, error.message)
    }

    package init(_ error: FlowError) { self.init(.invalid, error.description) }

    package init(_ error: ZeroMQError) {
        self.init(error.code == .tooManySockets ? .tryAgain : .failed, error.sentence)
    }

    static func unknown(_ id: CommandID) -> SluiceError {
        SluiceError(.noSuchCommand, "there is no command \(id)", id: id)
    }
}

/// The exit code and the response over HTTP that an error has.
package struct ErrorAnswer: Sendable, Equatable {
    /// The exit code of the command line, as sysexits(3) has it.
    package let exitCode: Int32
    /// The status code of a response over HTTP (RFC 9110, 15).
    package let status: Int
    /// The name of the problem (RFC 9457) in such a response; nil: the message may name files of the server, so that a client
    /// is told nothing but that the server failed.
    package let problem: String?
}

extension SluiceError.Code {
    /// The one table of errors, for the command line, the API and the pages.
    package var answer: ErrorAnswer {
        switch self {
        case .noStore: ErrorAnswer(exitCode: 66, status: 500, problem: nil)
        case .foreignStore: ErrorAnswer(exitCode: 65, status: 500, problem: nil)
        case .unsuitable: ErrorAnswer(exitCode: 78, status: 500, problem: nil)
        case .notPermitted: ErrorAnswer(exitCode: 77, status: 500, problem: nil)
        case .corrupt, .failed: ErrorAnswer(exitCode: 70, status: 500, problem: nil)
        case .tryAgain: ErrorAnswer(exitCode: 75, status: 503, problem: "store-unavailable")
        case .cannotWrite: ErrorAnswer(exitCode: 74, status: 507, problem: "insufficient-storage")
        case .conflict: ErrorAnswer(exitCode: 65, status: 409, problem: "unique-key-conflict")
        case .notAllowed: ErrorAnswer(exitCode: 65, status: 409, problem: "status-conflict")
        case .invalid: ErrorAnswer(exitCode: 65, status: 400, problem: "invalid-command")
        case .usage: ErrorAnswer(exitCode: 64, status: 400, problem: "invalid-command")
        case .source: ErrorAnswer(exitCode: 66, status: 400, problem: "invalid-source")
        case .noSuchCommand: ErrorAnswer(exitCode: 66, status: 404, problem: "command-not-found")
        case .noSuchCollection: ErrorAnswer(exitCode: 66, status: 404, problem: "command-not-found")
        case .ambiguous: ErrorAnswer(exitCode: 64, status: 404, problem: "command-not-found")
        }
    }
}

/// Why a schedule cannot be put.
package struct ScheduleBuildError: Error, CustomStringConvertible {
    package let schedule: String
    /// The node of its flow with the problem; nil where it is the schedule's own.
    package let node: String?
    /// The error of the zone, of an option, of the payload or of the registry.
    package let cause: any Error

    package var description: String { sentence(SluiceError(cause).message) }

    /// The sentence of the cause, with its place.
    package func sentence(_ problem: String) -> String {
        "schedule “\(schedule)”: \(node.map { FlowError(node: $0, problem).description } ?? problem)"
    }
}
