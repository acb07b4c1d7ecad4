internal import ArgumentParser
internal import Commands
internal import Store
internal import Wire

struct RequalifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requalify",
        abstract: "Change the quality of service of commands.",
        discussion: """
            For commands that have not ended. A running command keeps its slot; the new quality of service counts when \
            it is run again.

            EXAMPLES
              sluice requalify 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --qos userInitiated
              sluice list --qos default --json | jq -r .id | xargs sluice requalify --qos background
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: "The new quality of service.")
    var qos: QualityOfService

    @Argument(help: ArgumentHelp("The commands, each by its id or any part of it.", valueName: "id"))
    var ids: [CommandIDPart]

    func run() throws {
        try SteeringRun(data: data, print: print).change(ids) { command, store in
            try store.requalify(command.id, qos: qos, now: .now)
                ? .done("is \(qos) now", hint: .changed)
                : .refused("has ended in status \(command.status) and keeps its quality of service")
        }
    }
}
