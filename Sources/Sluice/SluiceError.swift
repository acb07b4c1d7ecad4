package import Store
internal import ZeroMQ

/// An error of the library: a code for programs, and a sentence for people.
public struct SluiceError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        /// There is no store in the directory, or a part of it is missing.
        case noStore
        /// The files are not a store of Sluice, or are of a newer version.
        case foreignStore
        /// The directory has another owner or an open mode, or the operating system refused.
        case notPermitted
        /// Another process has locked the store for too long, or descriptors are exhausted. Try again.
        case tryAgain
        /// The file system is full, or a write failed.
        case cannotWrite
        /// The store is damaged.
        case corrupt
        /// A command with another payload or destination holds the unique key: `id` is that command, and the
        /// message says for how long it holds the key.
        case conflict
        /// A value that the contract does not allow: payload, type, limit.
        case invalid
        /// A payload names a source that is missing, unreadable or not a regular file.
        case source
        /// A payload contains a malformed URL or an unknown scheme.
        case usage
        /// There is no command of that id.
        case noSuchCommand
        /// The status of the command does not allow the change.
        case notAllowed
        /// Anything else.
        case failed
    }

    public var code: Code
    public var message: String
    /// The command that the error is about; nil for other errors.
    public var id: CommandID?

    public init(_ code: Code, _ message: String, id: CommandID? = nil) {
        self.code = code
        self.message = message
        self.id = id
    }

    public var description: String { message }
}

extension SluiceError {
    package init(_ error: StoreError) {
        let code: Code =
            switch error.code {
            case .missing: .noStore
            case .foreign: .foreignStore
            case .permission: .notPermitted
            case .busy, .exhausted, .overloaded: .tryAgain
            case .full: .cannotWrite
            case .corrupt: .corrupt
            case .conflict: .conflict
            case .invalid: .invalid
            case .notFound: .noSuchCommand
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

    init(_ error: ZeroMQError) {
        self.init(error.code == .tooManySockets ? .tryAgain : .failed, error.sentence)
    }

    static func unknown(_ id: CommandID) -> SluiceError {
        SluiceError(.noSuchCommand, "there is no command \(id)", id: id)
    }
}
