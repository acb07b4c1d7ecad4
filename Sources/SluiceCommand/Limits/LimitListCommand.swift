internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct LimitListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the rate limits, and how many ready commands wait for each.",
        discussion: """
            A limit that was removed is listed while ready commands name it.

            EXAMPLES
              sluice limit list
              sluice limit list --json | jq 'select(.waiting > 0)'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        let queue = try data.queue()
        let limits = try queue.rateLimits()
        if print.json {
            for reading in limits { Output.line(JSONValue.object(reading.members).bytes) }
        } else if limits.isEmpty {
            Diagnostics.say("no rate limits; “sluice limit set --help” says how to make one")
        } else {
            var table = Table([
                ("NAME", .left), ("STARTS", .right), ("BURST", .right), ("AT ONCE", .right), ("WAITING", .right),
            ])
            for reading in limits {
                let limit = reading.limit
                table.add([
                    reading.name, limit.map { "\($0.starts)" } ?? "removed",
                    limit.map { "\($0.burst ?? $0.starts.defaultBurst)" } ?? "-",
                    limit?.atOnce.map { "\($0)" } ?? "-", Figures.grouped(Int64(reading.waiting)),
                ])
            }
            for line in table.lines { Output.line(line) }
        }
        try data.warn(of: queue)
    }
}
