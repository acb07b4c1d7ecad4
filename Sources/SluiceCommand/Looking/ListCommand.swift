internal import ArgumentParser
internal import Commands
internal import Console
internal import HTTPClient
internal import Host
internal import Queue
internal import Settings

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List commands, oldest first.",
        discussion: """
            On a terminal it prints the end of each id, the age, the file or URL, the status and the reason, in its width; \
            otherwise, whole ids and more columns. It prints the first 100, and says so where there are more.
            --status is answered from an index; the other filters look at the commands one by one, and --file and --error \
            do so from the newest on. With a limit, a list stops after 5 s, and says how far it has looked and how to go \
            on; with --limit 0 it looks at every command. retry, cancel, requalify and resolve take the same filters.

            EXAMPLES
              sluice list --status error --status gaveUp
              sluice list --failed-within 1h
              sluice list --newest --limit 20
              sluice list --file clip-0042.mov
              sluice list --error "timed out" --newer-than 1h
              sluice list --type sync --older-than 2d
              sluice list --status new --limit 0 -q | wc -l
              sluice list --destination https://host --after 01998b5e-…   (the next page)
              sluice retry --status gaveUp --failed-within 1h --dry-run   (then without --dry-run)
            """)

    /// How long a list with a limit looks for commands.
    private static let timeout: Duration = .seconds(5)
    /// The interval at which a search prints the commands that it has found.
    private static let step: Duration = .milliseconds(200)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var filters: FilterOptions

    @Option(name: .long, help: "Only commands of this quality of service.")
    var qos: QualityOfService?

    @Flag(name: [.customShort("q"), .long], help: "Print only the ids, one a line.")
    var quiet = false

    @Flag(name: .long, help: "The newest first.")
    var newest = false

    @Flag(name: .long, help: "The oldest first, also with --file and --error.")
    var oldest = false

    @Option(name: .long, help: ArgumentHelp("The maximum number of commands; 0 for all.", valueName: "count"))
    var limit = 100

    @Option(
        name: .long, help: ArgumentHelp("Only commands after this one: the last of the page before.", valueName: "id"))
    var after: CommandIDPart?

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit must be 0 or more.") }
        if quiet && print.json { throw ValidationError("--quiet and --json exclude each other.") }
        if newest && oldest { throw ValidationError("--newest and --oldest exclude each other.") }
    }

    func run() throws {
        let queue = try data.queue()
        let now = queue.now
        let filter = filters.filter(qos: qos, now: now)
        let order: CommandOrder = newest || filter.isSearch && !oldest ? .newestFirst : .oldestFirst
        var walk = CommandWalk(
            queue, filter, order: order, after: try after.map { try queue.id(of: $0) },
            limit: limit == 0 ? nil : limit, within: limit == 0 ? nil : Self.timeout)
        var printer = ListPrinter(print: print, isQuiet: quiet, queue: queue, now: now)
        while let page = try walk.next(within: Self.step) { try printer.print(page) }
        printer.finish()
        if walk.isFull {
            try sayCut(filter, order, walk, queue)
        } else if !walk.isComplete, let position = walk.position {
            Output.flush()
            Diagnostics.say(
                "looked at \(Figures.grouped(Int64(walk.scanned))) commands, \(order == .newestFirst ? "back" : "up") to "
                    + "\(position.madeAt); to go on, repeat it with --after \(position), or use --limit 0 for all")
        }
        if !printer.messages.isEmpty {
            Output.flush()
            // Once, because the reason of each message names the endpoint only.
            for (endpoint, sentence) in try queue.pausedEndpoints()
            where printer.messages.contains(endpoint.origin) {
                Diagnostics.say(sentence)
            }
        }
        try data.warn(of: queue)
    }

    /// Says that more commands follow, and how many where the store counts them.
    private func sayCut(
        _ filter: CommandFilter, _ order: CommandOrder, _ walk: CommandWalk, _ queue: QueueAccess
    ) throws {
        guard let position = walk.position, try walk.hasMore() else { return }
        var counted = CommandFilter(qos: filter.qos)
        counted.statuses = filter.statuses
        let total = after == nil && filter == counted ? try queue.counts().count(of: filter) : nil
        let shown = "the \(order == .newestFirst ? "newest" : "oldest") \(Figures.grouped(Int64(limit)))"
        Diagnostics.say(
            (total.map { "these are \(shown) of \(Figures.grouped(Int64($0))) commands" }
                ?? "these are \(after == nil ? shown : "the next \(limit)"), and there are more")
                + "; --limit 0 prints all, --after \(position) the next")
    }
}

/// Prints the pages of a list: ids, JSON lines, a table for other programs, or a table in the width of a terminal.
struct ListPrinter {
    let print: PrintOptions
    /// Only the ids.
    let isQuiet: Bool
    let queue: QueueAccess
    let now: Timestamp
    /// The destinations of messages that have not ended.
    private(set) var messages: Set<Destination> = []
    private var isFirst = true

    init(print: PrintOptions, isQuiet: Bool, queue: QueueAccess, now: Timestamp) {
        self.print = print
        self.isQuiet = isQuiet
        self.queue = queue
        self.now = now
    }

    mutating func print(_ page: [Command]) throws {
        guard !page.isEmpty else { return }
        defer { isFirst = false }
        if isQuiet {
            for command in page { Output.line(command.id.description) }
            return
        }
        if print.json {
            for command in page { Output.line(try json(command).bytes) }
            return
        }
        messages.formUnion(
            page.lazy.filter { $0.type == CommandType.webhook && !$0.status.isFinal }.map(\.destination))
        let lines = Output.isTerminal ? try rows(page) : try table(page)
        for line in lines { Output.line(line) }
        if Output.isTerminal { Output.flush() }
    }

    func finish() { Output.flush() }

    /// The members of a command, its file and URL; for a program that has failed also `stderr`, the part that is kept.
    private func json(_ command: Command) throws -> JSONValue {
        let subject = try queue.subject(of: command.id)
        let url = subject?.url.map { HTTPHeaderRedaction.shown(url: $0) }
        let members =
            command.members + [
                .init("file", subject?.file.map { .string($0) } ?? .null),
                .init("url", url.map { .string($0) } ?? .null),
            ]
        guard command.hasFailedProgram else { return .object(members) }
        let output = try queue.errorOutput(of: command)
        return .object(members + [.init("stderr", output.map { .string($0.text) } ?? .null)])
    }

    private func rows(_ page: [Command]) throws -> [String] {
        let rows = try page.map { command in
            CommandRows.Row(
                id: command.id, age: now - command.createdAt, type: command.type,
                subject: try queue.subject(of: command.id),
                destination: command.destination, status: command.status, reason: command.reason)
        }
        return CommandRows.lines(rows, columns: Terminal.size.columns, withHeader: isFirst)
    }

    private func table(_ page: [Command]) throws -> [String] {
        var table = Table([
            ("ID", .left), ("TYPE", .left), ("QOS", .left), ("STATUS", .left), ("PROGRESS", .right),
            ("RETRIES", .right), ("DESTINATION", .left), ("FILE OR URL", .left), ("REASON", .left),
        ])
        for command in page {
            let title = try queue.subject(of: command.id).map {
                $0.isURL ? HTTPHeaderRedaction.shown(url: $0.title) : $0.title
            }
            table.add([
                command.id.description, command.type, command.qos.name, command.status.word,
                command.total > 0 ? "\(Figures.bytes(command.offset))/\(Figures.bytes(command.total))" : "-",
                "\(command.retries)/\(command.retryLimit)", command.destination.description,
                title.map(TerminalText.plain) ?? "-", command.reason ?? "",
            ])
        }
        return isFirst ? table.lines : Array(table.lines.dropFirst())
    }
}
