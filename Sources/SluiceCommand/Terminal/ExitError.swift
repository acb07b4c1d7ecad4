internal import ArgumentParser
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

    /// Prints the sentence on standard error and ends the process.
    static func end(with error: any Error) -> Never { Output.finish(code: report(error)) }

    /// Prints the sentence on standard error, or the text that the arguments ask for.
    /// - Returns: the exit code.
    static func report(_ error: any Error) -> ExitCode {
        if error is ExitError || error is SpoolError || SluiceError.isKnown(error) {
            let exitError = ExitError(error)
            Output.flush()
            if let message = exitError.message { Diagnostics.say(message) }
            return exitError.code
        }
        // Every other error is the parser's: usage, help, version, a completion script.
        let code = SluiceTool.exitCode(for: error)
        if code.isSuccess, !ProgramArguments.askForText {
            Diagnostics.write(SluiceTool.fullMessage(for: error) + "\n")
            Diagnostics.say("a subcommand is missing")
            return .usage
        }
        if code.isSuccess {
            Output.line(Array(SluiceTool.fullMessage(for: error).utf8))
            return .done
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
        return code == .validationFailure ? .usage : ExitCode(rawValue: code.rawValue) ?? .internalError
    }
}
