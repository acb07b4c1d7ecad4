internal import ArgumentParser
internal import Host
internal import Operations
internal import Queue
internal import Store
internal import Work
internal import ZeroMQ

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
        case let exitError as ExitError: self = exitError
        case let error as StoreError: self.init(SluiceError(error))
        case let error as SystemError: self.init(SluiceError(StoreError(error)))
        case let error as SluiceError: self.init(Self.code(error.code), error.message)
        case let error as PayloadError: self.init(SluiceError(error))
        case let error as SpoolError: self.init(error.isCreation ? .cannotCreate : .cannotWrite, error.description)
        case let error as ZeroMQError:
            self.init(error.code == .tooManySockets ? .tryAgain : .internalError, error.sentence)
        default: self.init(.internalError, "\(error)")
        }
    }

    private static func code(_ code: SluiceError.Code) -> ExitCode {
        switch code {
        case .noStore, .source, .noSuchCommand, .noSuchCollection: .input
        case .foreignStore, .conflict, .invalid, .notAllowed: .data
        case .notPermitted: .permission
        case .unsuitable: .configuration
        case .tryAgain: .tryAgain
        case .cannotWrite: .cannotWrite
        case .corrupt, .failed: .internalError
        case .usage, .ambiguous: .usage
        }
    }

    /// Prints the sentence on standard error and ends the process.
    static func end(with error: any Error) -> Never {
        if error is ExitError || error is StoreError || error is SystemError || error is SluiceError
            || error is PayloadError
            || error is ZeroMQError || error is SpoolError
        {
            let exitError = ExitError(error)
            Output.flush()
            if let message = exitError.message { Diagnostics.say(message) }
            Output.finish(code: exitError.code)
        }
        // Every other error is the parser's: usage, help, version, a completion script.
        let code = SluiceTool.exitCode(for: error)
        if code.isSuccess, !ProgramArguments.askForText {
            Diagnostics.write(SluiceTool.fullMessage(for: error) + "\n")
            Diagnostics.say("a subcommand is missing")
            Output.finish(code: .usage)
        }
        if code.isSuccess {
            Output.line(Array(SluiceTool.fullMessage(for: error).utf8))
            Output.finish(code: .done)
        }
        // The parser prints a list of values one a line; a sentence keeps a long list short.
        var sentence = SluiceTool.message(for: error).split(separator: "\n").reduce("") { text, line in
            if text.isEmpty { return String(line) }
            return text + (!line.hasPrefix("  - ") ? " " : text.hasSuffix(":") ? " " : ", ")
                + line.drop { $0 == " " || $0 == "-" }
        }
        if !sentence.isEmpty {
            if let unknown = UnknownOption.sentence(about: ProgramArguments.rest) {
                sentence = unknown
            } else if sentence.contains("' is invalid for '"), !sentence.contains("Please provide") {
                sentence += "; use \(ArgumentForm.expected ?? "a number")"
            }
            if let meant = ArgumentForm.suggestion, sentence.contains("' is invalid for '") {
                sentence = "\(sentence.withFullStop) Did you mean \(meant)?"
            }
            Diagnostics.say(sentence)
            // Without the parser's usage text, which for some commands is longer than a screen.
            if let help = SluiceTool.fullMessage(for: error).split(separator: "\n").last, help.contains("--help") {
                Diagnostics.write("\(help.drop { $0 == " " })\n")
            }
        }
        Output.finish(code: code == .validationFailure ? .usage : ExitCode(rawValue: code.rawValue) ?? .internalError)
    }
}
