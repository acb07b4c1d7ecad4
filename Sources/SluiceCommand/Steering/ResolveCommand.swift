internal import ArgumentParser
internal import Commands
internal import Queue

struct ResolveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Settle commands that are in doubt.",
        usage: "sluice resolve [<options>] (--success | --retry | --cancel) (<id> ... | <filters>)",
        discussion: """
            A command that may have been delivered, and must not be executed twice, waits for a person: look at its \
            destination, then say what is true. Name the commands by their ids, or by the filters of “sluice list”.

            EXAMPLES
              sluice list --status inDoubt
              sluice resolve 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --success    (it has arrived)
              sluice resolve 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --retry      (it has not: send it again)
              sluice resolve 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --cancel     (it is not needed any more)
              sluice resolve --retry --destination https://host --dry-run
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

    @OptionGroup var selection: CommandSelection

    func validate() throws { try selection.check() }

    func run() throws {
        try SteeringRun(data: data, print: print).change(
            selection, in: [.inDoubt], verb: "Settle as \(verdict.status.word)"
        ) { command, queue in
            guard command.status == .inDoubt, try queue.resolve(command.id, as: verdict.status) == .resolved else {
                return .refused("\(command.status.clause), and is not in doubt: there is nothing to resolve")
            }
            return .done("\(verdict.status == .new ? "will be executed again" : "is \(verdict.status.word) now")")
        }
    }
}
