internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct LimitShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a rate limit, and the commands that wait longest for it.",
        discussion: """
            EXAMPLES
              sluice limit show quotes-api
              sluice limit show quotes-api --json | jq -r '.next[].id'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The name of the limit.", valueName: "name"))
    var name: String

    func run() throws {
        let queue = try data.queue()
        guard let details = try queue.limitDetails(of: name) else {
            throw ExitError(.input, try queue.missingLimit(name, data))
        }
        if print.json {
            Output.line(details.json.bytes)
        } else {
            for line in lines(of: details, now: queue.now) {
                Output.line(Output.isTerminal ? TerminalText.cut(line, width: Terminal.size.columns) : line)
            }
        }
        try data.warn(of: queue)
    }

    private func lines(of details: RateLimitDetails, now: Timestamp) -> [String] {
        let reading = details.reading
        let use = reading.limit?.atOnce.map { " of \(Figures.grouped(Int64($0)))" } ?? ""
        var lines = [
            "\(name): \(reading.limit.map(LimitText.sentence) ?? "removed")",
            "running \(Figures.grouped(Int64(reading.running)))\(use), waiting \(Figures.grouped(Int64(reading.waiting)))",
        ]
        if !reading.state.isEmpty { lines.append(reading.state) }
        guard !details.next.isEmpty else { return lines }
        var table = Table([("ID", .left), ("TYPE", .left), ("QOS", .left), ("DESTINATION", .left), ("AGE", .right)])
        for command in details.next {
            table.add([
                command.id.description, command.type, command.qos.name, command.destination.description,
                max(now - command.createdAt, .zero).roundText,
            ])
        }
        lines += ["", "Those that wait longest:"] + table.lines
        return lines
    }
}

extension QueueAccess {
    /// The sentence for a rate limit that does not exist, with the nearest name.
    func missingLimit(_ name: String, _ data: DataOptions) throws -> String {
        let near = NearestName.suggestion(for: name, among: try limits().keys.sorted())
        return "there is no rate limit “\(name)” in \(data.place)\(near)"
    }
}
