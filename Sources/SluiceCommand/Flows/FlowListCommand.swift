internal import ArgumentParser
internal import Commands
internal import Console
internal import Store

struct FlowListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List flows, newest first: how many of their nodes have ended and failed.",
        discussion: """
            EXAMPLES
              sluice flow list
              sluice flow list --status tooManyTimes --json | jq -r .id | xargs sluice retry
            """)

    @OptionGroup var list: CompositeList

    func validate() throws { try list.validate() }

    func run() throws {
        var table = Table([
            ("ID", .left), ("NAME", .left), ("STATUS", .left), ("ENDED", .right), ("FAILED", .right), ("AGE", .right),
        ])
        let now = Timestamp.now
        try list.run(of: CommandType.flow, named: "flows", &table) { id, store in
            guard let flow = try store.flow(id) else { return nil }
            return CompositeList.Row(
                json: .object(FlowJSON.members(of: flow)),
                cells: [
                    flow.command.id.description, TerminalText.cut(flow.name, width: 40), flow.command.status.name,
                    "\(Figures.grouped(Int64(flow.nodes - flow.open))) of \(Figures.grouped(Int64(flow.nodes)))",
                    Figures.grouped(Int64(flow.failed)), (now - flow.command.createdAt).roundText,
                ])
        }
    }
}
