internal import ArgumentParser
internal import Commands
internal import Store
internal import Wire

struct CancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel commands.",
        discussion: """
            A command that nobody executes is cancelled at once. For one that is running the wish is recorded and its \
            worker told; a success that the destination has already given wins.

            EXAMPLES
              sluice cancel 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice list --destination https://host --json | jq -r .id | xargs sluice cancel
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The commands.", valueName: "id"))
    var ids: [CommandID]

    func run() throws {
        let hints = PendingHints(in: data.directory())
        defer { hints.send() }
        let (_, store) = try data.store()
        var report = Report(asJSON: print.json, path: data.path)
        for id in ids {
            guard try store.command(id) != nil else {
                report.unknown(id)
                continue
            }
            switch try store.cancel(id, reason: "cancelled by a person", now: .now) {
            case .cancelled:
                hints.add(.changed, id)
                report.done(id, "cancelled")
            case .requested:
                hints.add(.cancelRequested, id)
                report.done(id, "cancel wished; its worker is told")
            case .ended(.cancelled): report.done(id, "was cancelled before")
            case .ended(let status): report.refused(id, "has ended before, in status \(status)")
            }
        }
        try report.finish()
    }
}
