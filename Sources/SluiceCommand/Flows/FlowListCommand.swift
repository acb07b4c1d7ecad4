internal import ArgumentParser
internal import Commands
internal import Console
internal import Host
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

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: ArgumentHelp("Only flows in this status.", valueName: "status"))
    var status: CommandStatus?

    @Option(name: .long, help: ArgumentHelp("The maximum number of flows; 0 for all.", valueName: "count"))
    var limit = 20

    /// How long a list with a limit looks for flows.
    private static let timeout: Duration = .seconds(5)

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit must be 0 or more.") }
    }

    func run() throws {
        let (_, store) = try data.store()
        let now = Timestamp.now
        var filter = CommandFilter()
        filter.type = CommandType.flow
        filter.status = status
        var left = limit == 0 ? Int.max : limit
        var after: CommandID?
        let deadline = limit == 0 ? nil : MonotonicTime.now + Self.timeout
        var table = Table([
            ("ID", .left), ("NAME", .left), ("STATUS", .left), ("ENDED", .right), ("FAILED", .right), ("AGE", .right),
        ])
        while left > 0 {
            let page = try store.page(
                filter, order: .newestFirst, after: after, limit: min(left, 1000), until: deadline)
            for command in page.commands {
                guard let flow = try store.flow(command.id) else { continue }
                if print.json {
                    Output.line(JSONValue.object(FlowJSON.members(of: flow)).bytes)
                    continue
                }
                table.add([
                    flow.command.id.description, TerminalText.cut(flow.name, width: 40), flow.command.status.name,
                    "\(Figures.grouped(Int64(flow.nodes - flow.open))) of \(Figures.grouped(Int64(flow.nodes)))",
                    Figures.grouped(Int64(flow.failed)), (now - flow.command.createdAt).roundText,
                ])
            }
            left -= page.commands.count
            guard let next = page.next else { break }
            after = next
            if let deadline, left > 0, MonotonicTime.now >= deadline {
                Diagnostics.say("looked back to \(next.madeAt); use --limit 0 to look at every command")
                break
            }
        }
        if !table.isEmpty {
            for line in table.lines {
                Output.line(Output.isTerminal ? TerminalText.cut(line, width: Terminal.size.columns) : line)
            }
        } else if !print.json {
            Output.flush()
            Diagnostics.say("no flows; “sluice flow submit --help” says how to make one")
        }
        try data.warn(of: store)
    }
}
