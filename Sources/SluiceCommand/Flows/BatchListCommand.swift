internal import ArgumentParser
internal import Commands
internal import Console
internal import Store

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
        var table = Table([
            ("ID", .left), ("NAME", .left), ("STATUS", .left), ("ENDED", .right), ("FAILED", .right), ("AGE", .right),
        ])
        let now = Timestamp.now
        try list.run(of: CommandType.batch, named: "batches", &table) { id, store in
            guard let batch = try store.batch(id) else { return nil }
            return CompositeList.Row(
                json: BatchJSON.value(of: batch),
                cells: [
                    id.description, TerminalText.cut(batch.name, width: 40),
                    batch.command.status == .blocked && !batch.isSealed ? "open" : batch.command.status.name,
                    "\(Figures.grouped(Int64(batch.members - batch.open))) of \(Figures.grouped(Int64(batch.members)))",
                    Figures.grouped(Int64(batch.failed)), (now - batch.command.createdAt).roundText,
                ])
        }
    }
}
