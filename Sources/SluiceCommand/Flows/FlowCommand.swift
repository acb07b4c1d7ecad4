internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct FlowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flow",
        abstract: "Submit and show flows: commands that wait for each other.",
        discussion: """
            A flow is a command too: list, status, cancel, retry, explain and --wait take its id. It is blocked until its \
            last node has ended. A node whose parent fails is cancelled, unless it waits for that failure or for any end; \
            nodes that do not depend on it run on. “sluice retry” of a failed node, or of the whole flow, lets it go on.

            EXAMPLES
              sluice flow submit quotes.yaml --wait
              sluice flow 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice flow 1c2d4e5f --dot | dot -Tsvg > flow.svg
              sluice flow list
            """,
        subcommands: [FlowSubmitCommand.self, FlowListCommand.self, FlowShowCommand.self],
        defaultSubcommand: FlowShowCommand.self)
}

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

struct FlowShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Draw a flow: its nodes in their order, each with its status and what it waits for.",
        discussion: """
            Each line is a node, behind the nodes that it waits for; those are named after the arrow. Times are those from \
            the submit of the flow to the end of the node. More than forty nodes whose names differ only in the number at \
            their end have one line; --all gives each its own.

            “sluice flow ID” is the same as “sluice flow show ID”.

            EXAMPLES
              sluice flow 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f
              sluice flow 1c2d4e5f --json | jq '.nodes[] | select(.status == "tooManyTimes")'
              sluice flow 1c2d4e5f --dot | dot -Tsvg > flow.svg
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The flow, by its id or any part of it.", valueName: "id"))
    var id: CommandIDPart

    @Flag(name: .long, help: "Give every node a line of its own.")
    var all = false

    @Flag(name: .long, help: "Print the graph for Graphviz.")
    var dot = false

    func validate() throws {
        if dot && print.json { throw ValidationError("--dot and --json exclude each other.") }
    }

    func run() throws {
        let queue = try data.queue()
        let id = try queue.id(of: id)
        let (flow, nodes): (FlowState, [FlowNodeState])
        switch try queue.flow(id, limit: nil) {
        case .found(let details): (flow, nodes) = (details.flow, details.nodes)
        case .missing: throw ExitError(.input, "there is no command \(id) in \(data.place)")
        case .other(let command, let owner):
            let advice =
                owner.map { "; it belongs to the flow \($0)" } ?? "; “sluice status \(id)” shows it"
            throw ExitError(.input, "command \(id) is of type “\(command.type)”, not a flow\(advice)")
        }
        let lines: [String]
        if dot {
            lines = FlowGraph.lines(flow, nodes)
        } else if print.json {
            lines = [FlowJSON.value(of: flow, nodes).text]
        } else {
            lines = FlowRows.lines(
                flow, nodes, columns: Output.isTerminal ? Terminal.size.columns : nil, showsAll: all, now: queue.now)
        }
        for line in lines { Output.line(line) }
        try data.warn(of: queue)
    }
}
