internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct FlowListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List flows, newest first: how many of their nodes have ended and failed.",
        discussion: """
            EXAMPLES
              sluice flow list
              sluice flow list --status gaveUp
              sluice retry --type flow --status gaveUp
            """)

    @OptionGroup var list: CompositeList

    func validate() throws { try list.validate() }

    func run() throws {
        try list.run(of: CommandType.flow, named: "flows") { id, queue in
            guard case .found(let details) = try queue.flow(id, limit: 0) else { return nil }
            let flow = details.flow
            return CompositeList.Row(
                json: .object(FlowJSON.members(of: flow)), command: flow.command, name: flow.name,
                status: flow.command.status.word,
                ended: flow.nodes - flow.open, count: flow.nodes, failed: flow.failed)
        }
    }
}
