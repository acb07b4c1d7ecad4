package import Store

/// What could not be done: a code to decide by, and a sentence to read.
public struct SluiceError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        /// There is no store in the directory, or a part of it is missing.
        case noStore
        /// The files are no store of Sluice, or of a newer version.
        case foreignStore
        /// A wrong owner or mode, or the operating system refused.
        case notPermitted
        /// Somebody holds the store for too long. Try again.
        case tryAgain
        /// The file system is full, or a write failed.
        case cannotWrite
        /// The store is damaged.
        case corrupt
        /// The unique key is held by a command with another payload or destination: `id` names it, the
        /// message says for how long.
        case conflict
        /// A value that the contract does not allow: payload, type, limit.
        case invalid
        /// A payload names a source that is missing, unreadable or no regular file.
        case source
        /// A payload holds a malformed URL or an unknown scheme.
        case usage
        /// There is no command of that id.
        case noSuchCommand
        /// The command's status does not allow it.
        case notAllowed
        /// Anything else.
        case failed
    }

    public var code: Code
    public var message: String
    /// The command concerned, where one is.
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

    static func unknown(_ id: CommandID) -> SluiceError {
        SluiceError(.noSuchCommand, "there is no command \(id)", id: id)
    }
}
