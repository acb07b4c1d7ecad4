internal import ArgumentParser
internal import Commands
internal import Queue

struct RequalifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requalify",
        abstract: "Change the quality of service of commands.",
        discussion: """
            For commands that have not ended. A running command keeps its slot; the new quality of service counts when \
            it is run again.

            Name the commands by their ids, or by the filters of “sluice list”: all that they admit and that have not \
            ended are changed. --from-qos is the filter by quality of service. On a terminal it tells their number, and asks.

            EXAMPLES
              sluice requalify 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f --qos userInitiated
              sluice requalify --from-qos default --destination https://host --qos background
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: "The new quality of service.")
    var qos: QualityOfService

    @Option(name: .long, help: ArgumentHelp("Only commands of this quality of service.", valueName: "qos"))
    var fromQos: QualityOfService?

    @OptionGroup var selection: CommandSelection

    func validate() throws { try selection.check(qos: fromQos) }

    func run() throws {
        try SteeringRun(data: data, print: print).change(
            selection, qos: fromQos, in: [.new, .queued, .sent, .error, .blocked], verb: "Make \(qos)"
        ) { command, queue in
            try queue.requalify(command.id, to: qos) == .requalified
                ? .done("is \(qos) now")
                : .refused("\(command.status.clause) and keeps its quality of service")
        }
    }
}
