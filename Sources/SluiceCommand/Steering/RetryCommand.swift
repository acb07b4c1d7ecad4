internal import ArgumentParser
internal import Commands
internal import Store
internal import Wire

struct RetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Run commands again, at once.",
        discussion: """
            For commands in status error (without waiting for the backoff), cancelled or tooManyTimes. Their retries and \
            crashes are reset; the offset is kept, so that a transfer goes on where it stood. A command in doubt is \
            settled with “sluice resolve”.

            EXAMPLES
              sluice retry 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice list --status tooManyTimes --json | jq -r .id | xargs sluice retry
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
            guard let command = try store.command(id) else {
                report.unknown(id)
                continue
            }
            let transition: StatusEvent?
            do throws(StoreError) {
                transition = try store.retry(id, now: .now)
            } catch {
                // Its unique key was taken since.
                guard error.code == .conflict else { throw error }
                report.refused(id, error.message)
                continue
            }
            if transition != nil {
                hints.add(.changed, id)
                report.done(id, "will be run again")
            } else if command.status == .inDoubt {
                report.refused(id, "is inDoubt: settle it with “sluice resolve \(id) --retry”")
            } else {
                report.refused(id, "is \(command.status) and cannot be retried")
            }
        }
        try report.finish()
    }
}
