internal import ArgumentParser
internal import Commands
internal import Queue

struct CancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel commands.",
        discussion: """
            A command that no worker executes is cancelled at once. For a running one the request is recorded, and its \
            worker ends it, unless the destination has already accepted it. One that was given up is put away: it becomes \
            cancelled, its reason keeps the cause, and a flow or batch that has counted it stays as it is.

            Name the commands by their ids, or by the filters of “sluice list”: all that they admit and that have not \
            ended are cancelled. On a terminal it tells their number, and asks.

            EXAMPLES
              sluice cancel 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice cancel --destination https://host --qos background
              sluice cancel --status new --older-than 2d --dry-run
              sluice cancel --status gaveUp --error "404" --older-than 30d
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: "Only commands of this quality of service.")
    var qos: QualityOfService?

    @OptionGroup var selection: CommandSelection

    func validate() throws { try selection.check(qos: qos) }

    func run() throws {
        try SteeringRun(data: data, print: print).change(
            selection, qos: qos, in: [.new, .queued, .sent, .error, .blocked], verb: "Cancel"
        ) { command, queue in
            switch try queue.cancel(command.id) {
            case .cancellationRequested where command.type == CommandType.flow:
                .done("cancellation requested; it ends when its running nodes have ended")
            case .cancellationRequested where command.type == CommandType.batch:
                .done("cancellation requested; its members are cancelled, and it ends when those that run have ended")
            case .cancellationRequested: .done("cancellation requested from its worker")
            case .refused(.ended(.cancelled)): .done("was cancelled before")
            case .refused(.ended(let status)): .refused("has ended before, in status “\(status.word)”")
            case .refused: .refused("has changed in the meantime")
            default: .done("cancelled")
            }
        }
    }
}
