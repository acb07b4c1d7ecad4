internal import ArgumentParser
internal import Commands
internal import Store
internal import Wire

struct RequalifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requalify",
        abstract: "Change the quality of service of commands.",
        discussion: """
            For commands that have not ended. One that is running keeps its place; its new quality counts when it is \
            run again.

            EXAMPLES
              sluice requalify 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --qos userInitiated
              sluice list --qos default --json | jq -r .id | xargs sluice requalify --qos background
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: "The new quality of service.")
    var qos: QualityOfService

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
            if try store.requalify(id, qos: qos, now: .now) {
                hints.add(.changed, id)
                report.done(id, "is \(qos) now")
            } else {
                report.refused(id, "has ended in status \(command.status) and keeps its quality")
            }
        }
        try report.finish()
    }
}
