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
