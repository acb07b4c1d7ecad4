internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct BatchShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a batch: how many of its members have ended and failed.",
        discussion: """
            “sluice batch ID” is the same as “sluice batch show ID”.

            EXAMPLES
              sluice batch 1c2d4e5f
              sluice list --batch 1c2d4e5f --status gaveUp
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The batch, by its id or any part of it.", valueName: "id"))
    var id: CommandIDPart

    func run() throws {
        let queue = try data.queue()
        Self.show(try Self.batch(id, queue, data), now: queue.now, asJSON: print.json)
        try data.warn(of: queue)
    }

    static func show(_ batch: BatchState, now: Timestamp, asJSON: Bool) {
        if asJSON { return Output.line(BatchJSON.value(of: batch).bytes) }
        for line in BatchText.lines(batch, now: now) { Output.line(line) }
    }

    static func batch(_ part: CommandIDPart, _ queue: QueueAccess, _ data: DataOptions) throws -> BatchState {
        let id = try queue.id(of: part)
        switch try queue.batch(id) {
        case .found(let batch): return batch
        case .missing: throw ExitError(.input, "there is no command \(id) in \(data.place)")
        case .other(let command, _):
            throw ExitError(
                .input, "command \(id) is of type “\(command.type)”, not a batch; “sluice status \(id)” shows it")
        }
    }
}
