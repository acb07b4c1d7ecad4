internal import ArgumentParser
internal import CLinux
internal import Commands
internal import Dispatch
internal import Glibc

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
        _ = SluiceTool.inheritedUmask
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
    /// The umask that this process has inherited. Its own files are private.
    static var inheritedUmask: mode_t { CommandLineRun.current?.umask ?? replacedUmask }

    private static let replacedUmask = umask(0o077)

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
