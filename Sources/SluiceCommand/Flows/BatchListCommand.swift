internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct BatchListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List batches, newest first: how many of their members have ended and failed.",
        discussion: """
            EXAMPLES
              sluice batch list
              sluice batch list --status blocked --json | jq -r .id
            """)

    @OptionGroup var list: CompositeList

    func validate() throws { try list.validate() }

    func run() throws {
        try list.run(of: CommandType.batch, named: "batches") { id, queue in
            guard case .found(let batch) = try queue.batch(id) else { return nil }
            return CompositeList.Row(
                json: BatchJSON.value(of: batch), command: batch.command, name: batch.name,
                status: batch.command.status == .blocked && !batch.isSealed ? "open" : batch.command.status.word,
                ended: batch.members - batch.open, count: batch.members, failed: batch.failed)
        }
    }
}
