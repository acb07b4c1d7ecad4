internal import ArgumentParser
internal import CLinux
internal import Commands
internal import Dispatch
internal import FileOps
internal import Glibc
internal import Host
internal import Queue
internal import Synchronization

/// Checks everything that needs no thread before the first one is started: where the process may have none, libdispatch waits
/// for ever.
@main
enum Main {
    static func main() {
        if getpid() == 1 {
            let code = clinux_serve_as_init()
            if code >= 0 { _exit(code) }
        }
        clinux_prepare_process()
        // Arenas grow with the threads and never shrink. Two are enough, and keep a worker small.
        _ = clinux_set_malloc_arenas(2)
        // libzmq aborts where a listener gets no descriptor. Each producer holds one, so a shell's limit of 1,024 is low.
        _ = clinux_raise_descriptor_limit(65_536)
        _ = CommandLineRun.inheritedUmask
        do {
            // From the start of the task on only the task uses it.
            nonisolated(unsafe) let command = try SluiceTool.parse()
            try SluiceTool.limits(of: command).require()
            Task { await SluiceTool.run(command) }
        } catch {
            ExitError.end(with: error)
        }
        dispatchMain()
    }
}

/// The `sluice` command.
struct SluiceTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice",
        abstract: "A durable store-and-forward command queue.",
        discussion: """
            Start everything on this machine with “sluice up”, upload a file with “sluice put FILE --to URL”, and look \
            at it with “sluice watch”. Commands that you submit while nothing runs are stored and executed later.

            Every subcommand but bench takes --data DIR (or SLUICE_DATA); the default is ./sluice-data. The store is in its \
            files, or on a PostgreSQL server: --store URL (or SLUICE_STORE); see “sluice store --help”.

            EXIT CODES: 0 done · 1 a command it waited for failed, a command refused the change asked for, doctor \
            found something, or a figure of bench missed its goal · 64 usage · 65 bad data · 66 no such file or command \
            · 69 a program that is needed is missing · 70 internal error or corrupt store · 73 cannot create · 74 cannot \
            write, or full · 75 try again · 77 not permitted · 78 configuration · 130 Ctrl-C, 143 SIGTERM (128 and the \
            signal)

            COMPLETIONS: sluice --generate-completion-script bash > ~/.local/share/bash-completion/completions/sluice
            """,
        version: SluiceVersion.current,
        groupedSubcommands: [
            CommandGroup(
                name: "Running",
                subcommands: [UpCommand.self, CoordinatorCommand.self, WorkerCommand.self, DoorCommand.self]),
            CommandGroup(
                name: "Submitting",
                subcommands: [
                    PutCommand.self, S3Command.self, GetCommand.self, FetchCommand.self, SyncCommand.self,
                    RequestCommand.self, WebhookCommand.self, ExecCommand.self, SubmitCommand.self,
                    FlowCommand.self, BatchCommand.self, ScheduleCommand.self,
                ]),
            CommandGroup(
                name: "Looking",
                subcommands: [
                    StatusCommand.self, ListCommand.self, WatchCommand.self, ExplainCommand.self,
                    CollectionCommand.self,
                ]),
            CommandGroup(
                name: "Steering",
                subcommands: [
                    CancelCommand.self, RetryCommand.self, ResolveCommand.self, RequalifyCommand.self,
                    PauseCommand.self, ResumeCommand.self, NetworkCommand.self, LimitCommand.self,
                ]),
            CommandGroup(
                name: "Door",
                subcommands: [
                    UploadsCommand.self, UploadRouteCommand.self, TokenCommand.self,
                    LoginCommand.self,
                ]),
            CommandGroup(
                name: "Upkeep",
                subcommands: [
                    DoctorCommand.self, PruneCommand.self, ResponseCommand.self, BackupCommand.self,
                    RestoreCommand.self, StoreCommand.self, ConfigCommand.self, BenchCommand.self,
                    BenchChildCommand.self,
                ]),
        ])

    static func parse() throws -> any ParsableCommand {
        try ByteText.checkArguments()
        try refuseUnknownSubcommand()
        return try parseAsRoot(ProgramArguments.rest)
    }

    static func limits(of command: any ParsableCommand) -> ProcessLimits {
        switch command {
        case let up as UpCommand: .supervisor(workers: up.workers, hasDoor: up.listen != nil)
        case is CoordinatorCommand: .coordinator
        case is WorkerCommand: .worker
        case is DoorCommand: .door
        default: .client
        }
    }

    static func run(_ command: any ParsableCommand) async -> Never {
        do {
            if !onlyPrints(command) { Output.ignoreClosedPipe() }
            try await execute(command)
            Output.finish(code: .done)
        } catch {
            ExitError.end(with: error)
        }
    }

    /// Runs the arguments of the current ``CommandLineRun``.
    static func runToEnd() async -> ExitCode {
        do {
            try await execute(parse())
            return .done
        } catch {
            return ExitError.report(error)
        }
    }

    private static func execute(_ command: any ParsableCommand) async throws {
        if var command = command as? any AsyncParsableCommand {
            try await command.run()
        } else {
            var command = command
            try command.run()
        }
    }

    /// Names an unknown subcommand; the parser would name an option behind it.
    private static func refuseUnknownSubcommand() throws {
        if let sentence = UnknownSubcommand.sentence(about: ProgramArguments.rest) {
            throw ValidationError(sentence)
        }
    }

    /// Whether a command only prints, so that a closed pipe may end it. Every other one completes its work.
    private static func onlyPrints(_ command: any ParsableCommand) -> Bool {
        switch command {
        case is StatusCommand, is ListCommand, is WatchCommand, is ExplainCommand, is FetchCommand,
            is ResponseCommand.List, is ResponseCommand.Show, is ConfigCheckCommand,
            is FlowListCommand, is FlowShowCommand, is BatchListCommand, is BatchShowCommand,
            is ScheduleListCommand, is ScheduleShowCommand, is LimitListCommand, is NetworkShowCommand,
            is RouteListCommand, is RouteCheckCommand, is TokenListCommand, is UploadListCommand, is WebhookListCommand,
            is CollectionListCommand, is CollectionShowCommand, is CollectionQueryCommand:
            true
        case let doctor as DoctorCommand: !doctor.mend
        default: false
        }
    }
}

extension CommandLineRun {
    /// Runs a command line to its end.
    ///
    /// For a command that ends by itself: services, `watch` and `bench` need a process of their own.
    /// - Parameters:
    ///   - arguments: without the name of the program.
    ///   - variables: variables that replace those of the process. Those of ``DataOptions`` are read from here.
    ///   - input: the descriptor of standard input, which the caller closes.
    package static func run(
        _ arguments: [String], variables: [String: String] = [:], input: CInt
    ) async -> Result {
        let run = CommandLineRun(arguments, variables: variables, input: input)
        let code = await $current.withValue(run) { await SluiceTool.runToEnd() }
        return Result(
            code: code.rawValue, output: run.output.withLock { $0 }, errors: run.errors.withLock { $0 })
    }
}

extension ByteText {
    /// Checks every argument of this process.
    /// - Throws: ``ExitError``: `input` for a file to put, `usage` for any other argument.
    static func checkArguments() throws {
        guard CommandLineRun.current == nil else { return }
        for index in 1..<ProgramArguments.rest.count + 1 {
            guard let argument = ProgramArguments.pointers[index], text(argument) == nil else { continue }
            let shown = String(shellQuoting: UnsafeRawBufferPointer(start: argument, count: strlen(argument)))
            // Only the parser gets the name with replacement characters.
            let replaced = String(cString: argument)
            if let put = try? SluiceTool.parseAsRoot(ProgramArguments.rest) as? PutCommand, put.files.contains(replaced)
            {
                throw ExitError(.input, "the file \(shown) cannot be put: its name is not valid UTF-8; rename it")
            }
            throw ExitError(.usage, "the argument \(shown) is not valid UTF-8, and names and keys must be")
        }
    }
}

extension ExitError {
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
