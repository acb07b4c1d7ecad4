internal import ArgumentParser
internal import Commands
internal import Operations
internal import Store
internal import Wire

struct ResolveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Settle commands that are in doubt.",
        usage: "sluice resolve [--data <dir>] [--config <file>] [--json] (--success | --retry | --cancel) <id> ...",
        discussion: """
            A command that may have been delivered, and must not be executed twice, waits for a person: look at its \
            destination, then say what is true.

            EXAMPLES
              sluice list --status inDoubt
              sluice resolve 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --success    (it has arrived)
              sluice resolve 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --retry      (it has not: send it again)
              sluice resolve 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --cancel     (it is not needed any more)
            """)

    enum Verdict: EnumerableFlag {
        case success, retry, cancel

        var status: CommandStatus {
            switch self {
            case .success: .success
            case .retry: .new
            case .cancel: .cancelled
            }
        }

        static func help(for value: Verdict) -> ArgumentHelp? {
            switch value {
            case .success: "It was delivered."
            case .retry: "It was not: execute it again."
            case .cancel: "It is not needed any more."
            }
        }
    }

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Flag(exclusivity: .exclusive)
    var verdict: Verdict

    @Argument(help: ArgumentHelp("The commands, each by its id or any part of it.", valueName: "id"))
    var ids: [CommandIDPart]

    func run() throws {
        let spool = Spool(directory: data.directory().spool)
        try SteeringRun(data: data, print: print).change(ids) { command, store in
            guard command.status == .inDoubt,
                let effects = try store.resolve(command.id, as: verdict.status, now: .now)
            else {
                return .refused("is \(command.status), not inDoubt: there is nothing to resolve")
            }
            // A delivered file is not sent again, so its spooled copy can go.
            if verdict == .success, let payload = try store.payload(command.id) { spool.discard(stored: payload) }
            return .done("is \(verdict.status) now", hint: .changed, effects: effects)
        }
    }
}
