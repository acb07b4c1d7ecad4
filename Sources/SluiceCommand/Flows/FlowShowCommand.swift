internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

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
