internal import FileOps
internal import Host
internal import Queue

/// An error that ends the process: its exit code, and a sentence that has not been printed yet.
struct ExitError: Error, CustomStringConvertible {
    let code: ExitCode
    /// Nil where the sentence was printed already.
    let message: String?

    /// The sentence, for a message that contains this error.
    var description: String { message ?? "exit code \(code.rawValue)" }

    init(_ code: ExitCode, _ message: String?) {
        self.code = code
        self.message = message
    }

    init(_ error: any Error) {
        switch error {
        case let error as ExitError: self = error
        case let error as ScheduleBuildError:
            let cause = ExitError(error.cause)
            self.init(cause.code, error.sentence(cause.message ?? "its body cannot be used"))
        case let error as SpoolError: self.init(error.isCreation ? .cannotCreate : .cannotWrite, error.description)
        default:
            let error = SluiceError(error)
            self.init(ExitCode(rawValue: error.code.answer.exitCode) ?? .internalError, error.message)
        }
    }
}

/// The exit code of the process. The numbers are those of sysexits.h where it has one.
enum ExitCode: Int32 {
    case done = 0
    /// A command that it waited for failed, or a change was refused; doctor found something; a figure of
    /// bench missed its goal.
    case failed = 1
    case usage = 64
    case data = 65
    case input = 66
    case unavailable = 69
    case internalError = 70
    case cannotCreate = 73
    case cannotWrite = 74
    case tryAgain = 75
    case permission = 77
    case configuration = 78
    /// 128 plus the number of the signal, as in shells.
    case hungUp = 129
    case interrupted = 130
    case terminated = 143
}
