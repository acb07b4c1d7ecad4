internal import ArgumentParser
internal import Commands
internal import Console
internal import Host
internal import Queue

/// The list of flows or batches, newest first.
struct CompositeList: ParsableArguments {
    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: ArgumentHelp("Only those in this status.", valueName: "status"))
    var status: CommandStatus?

    @Option(name: .long, help: ArgumentHelp("The maximum number of rows; 0 for all.", valueName: "count"))
    var limit = 20

    /// A flow or a batch, and how many of its parts have ended and failed.
    struct Row {
        var json: JSONValue
        var command: Command
        var name: String
        var status: String
        var ended: Int
        var count: Int
        var failed: Int

        fileprivate func cells(now: Timestamp) -> [String] {
            [
                command.id.description, TerminalText.cut(name, width: 40), status,
                "\(Figures.grouped(Int64(ended))) of \(Figures.grouped(Int64(count)))", Figures.grouped(Int64(failed)),
                (now - command.createdAt).roundText,
            ]
        }
    }

    /// How long a list with a limit looks.
    private static let timeout: Duration = .seconds(5)

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit must be 0 or more.") }
    }

    /// - Parameter row: nil for a command that is gone.
    func run(
        of type: String, named name: String, _ row: (CommandID, QueueAccess) throws -> Row?
    ) throws {
        var table = Table([
            ("ID", .left), ("NAME", .left), ("STATUS", .left), ("ENDED", .right), ("FAILED", .right), ("AGE", .right),
        ])
        let queue = try data.queue()
        let now = queue.now
        var filter = CommandFilter()
        filter.type = type
        filter.status = status
        var walk = CommandWalk(
            queue, filter, order: .newestFirst, limit: limit == 0 ? nil : limit,
            within: limit == 0 ? nil : Self.timeout)
        while let page = try walk.next() {
            for command in page {
                guard let row = try row(command.id, queue) else { continue }
                if print.json { Output.line(row.json.bytes) } else { table.add(row.cells(now: now)) }
            }
        }
        if !walk.isFull, !walk.isComplete, let position = walk.position {
            Diagnostics.say("looked back to \(position.madeAt); use --limit 0 to look at every command")
        }
        if !table.isEmpty {
            for line in table.lines {
                Output.line(Output.isTerminal ? TerminalText.cut(line, width: Terminal.size.columns) : line)
            }
        } else if !print.json {
            Output.flush()
            Diagnostics.say("no \(name); “sluice \(type) submit --help” says how to make one")
        }
        if try walk.hasMore() {
            Output.flush()
            Diagnostics.say("these are the newest \(limit), and there are more; --limit 0 prints all")
        }
        try data.warn(of: queue)
    }
}
