internal import ArgumentParser
internal import Commands
internal import Console
internal import Inspection
internal import Operations
internal import Store

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List commands, oldest first.",
        discussion: """
            EXAMPLES
              sluice list --status error
              sluice list --status new --limit 0 --json | wc -l
              sluice list --qos background --limit 20
              sluice list --destination https://host --after 01998b5e-…   (the next page)
              sluice list --status tooManyTimes --json | jq -r .id | xargs sluice retry
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Option(name: .long, help: "Only commands in this status.")
    var status: CommandStatus?

    @Option(name: .long, help: "Only commands of this quality of service.")
    var qos: QualityOfService?

    @Option(
        name: .long, help: ArgumentHelp("Only commands to this origin, or the origin of this URL.", valueName: "url"))
    var destination: DestinationArgument?

    @Option(name: .long, help: ArgumentHelp("The maximum number of commands; 0 for all.", valueName: "count"))
    var limit = 100

    @Option(
        name: .long, help: ArgumentHelp("Only commands after this one: the last of the page before.", valueName: "id"))
    var after: CommandID?

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit must be 0 or more.") }
    }

    func run() throws {
        let (directory, store) = try data.store()
        let filter = CommandFilter(status: status, qos: qos, destination: destination?.destination)
        var after = after
        var left = limit == 0 ? Int.max : limit
        var isFirst = true
        var messages: Set<Destination> = []
        while left > 0 {
            let asked = min(left, 1000)
            let page = try store.list(filter, after: after, limit: asked)
            if print.json {
                for command in page { Output.line(try json(command, store).bytes) }
            } else {
                for line in lines(page, withHeader: isFirst) { Output.line(line) }
                messages.formUnion(
                    page.lazy.filter { $0.type == CommandType.webhook && !$0.status.isFinal }.map(\.destination))
            }
            isFirst = false
            left -= page.count
            guard page.count == asked, let last = page.last else { break }
            after = last.id
        }
        if !messages.isEmpty {
            Output.flush()
            // Once, because the reason of each message names the endpoint only.
            for (endpoint, sentence) in try Instance(directory: directory, store: store).pausedEndpoints()
            where messages.contains(endpoint.origin) {
                Diagnostics.say(sentence)
            }
        }
        try data.warn(of: store)
    }

    /// The members of a command; for a program that has failed also `stderr`, the part that is kept.
    private func json(_ command: Command, _ store: SQLiteStore) throws -> JSONValue {
        guard command.hasFailedProgram else { return command.json }
        let output = try store.result(command.id).flatMap { ErrorOutput(result: JSONValue(stored: $0)) }
        return .object(command.members + [.init("stderr", output.map { .string($0.text) } ?? .null)])
    }

    private func lines(_ page: [Command], withHeader: Bool) -> [String] {
        var table = Table([
            ("ID", .left), ("TYPE", .left), ("QOS", .left), ("STATUS", .left), ("PROGRESS", .right),
            ("RETRIES", .right), ("DESTINATION", .left), ("REASON", .left),
        ])
        for command in page {
            table.add([
                command.id.description, command.type, command.qos.name, command.status.name,
                command.total > 0 ? "\(Figures.bytes(command.offset))/\(Figures.bytes(command.total))" : "-",
                "\(command.retries)/\(command.retryLimit)", command.destination.description,
                command.reason ?? "",
            ])
        }
        if page.isEmpty { return [] }
        return withHeader ? table.lines : Array(table.lines.dropFirst())
    }
}
