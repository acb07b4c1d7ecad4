internal import ArgumentParser
internal import Commands
internal import Console
internal import Host
internal import Store

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
        of type: String, named name: String, _ row: (CommandID, SQLiteStore) throws -> Row?
    ) throws {
        var table = Table([
            ("ID", .left), ("NAME", .left), ("STATUS", .left), ("ENDED", .right), ("FAILED", .right), ("AGE", .right),
        ])
        let now = Timestamp.now
        let (_, store) = try data.store()
        var filter = CommandFilter()
        filter.type = type
        filter.status = status
        var left = limit == 0 ? Int.max : limit
        var after: CommandID?
        var isCut = false
        let deadline = limit == 0 ? nil : MonotonicTime.now + Self.timeout
        while left > 0 {
            let page = try store.page(
                filter, order: .newestFirst, after: after, limit: min(left, 1000), until: deadline)
            for command in page.commands {
                guard let row = try row(command.id, store) else { continue }
                if print.json { Output.line(row.json.bytes) } else { table.add(row.cells(now: now)) }
            }
            left -= page.commands.count
            isCut = left == 0 && page.next != nil
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
            Diagnostics.say("no \(name); “sluice \(type) submit --help” says how to make one")
        }
        if isCut, let after,
            try !store.page(filter, order: .newestFirst, after: after, limit: 1, until: deadline).commands.isEmpty
        {
            Output.flush()
            Diagnostics.say("these are the newest \(limit), and there are more; --limit 0 prints all")
        }
        try data.warn(of: store)
    }
}
