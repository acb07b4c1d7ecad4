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
            A command that may not be executed twice, and of which nobody knows whether it was delivered, waits for a \
            person: look at its destination, then say what is true.

            EXAMPLES
              sluice list --status inDoubt
              sluice resolve 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --success    (it has arrived)
              sluice resolve 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --retry      (it has not: send it again)
              sluice resolve 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --cancel     (nobody needs it any more)
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
            case .cancel: "Nobody needs it any more."
            }
        }
    }

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Flag(exclusivity: .exclusive)
    var verdict: Verdict

    @Argument(help: ArgumentHelp("The commands.", valueName: "id"))
    var ids: [CommandID]

    func run() throws {
        let hints = PendingHints(in: data.directory())
        defer { hints.send() }
        let (directory, store) = try data.store()
        let spool = Spool(directory: directory.spool)
        var report = Report(asJSON: print.json, path: data.path)
        for id in ids {
            guard let command = try store.command(id) else {
                report.unknown(id)
                continue
            }
            if command.status == .inDoubt, try store.resolve(id, as: verdict.status, now: .now) != nil {
                hints.add(.changed, id)
                // Nobody will send it any more.
                if verdict == .success, let payload = try store.payload(id) { spool.discard(stored: payload) }
                report.done(id, "is \(verdict.status) now")
            } else {
                report.refused(id, "is \(command.status), not inDoubt: there is nothing to resolve")
            }
        }
        try report.finish()
    }
}
