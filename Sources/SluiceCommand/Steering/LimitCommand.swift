public import ArgumentParser
public import Commands
internal import Console
internal import Queue

struct LimitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Limit how many commands start in a time: by name, whatever their type and destination.",
        discussion: """
            A command names a limit with “sluice submit --limit NAME”, “limit” in a line of bulk or in a node of a flow. It \
            starts when the limit has a token for it, and each retry takes one too. In any time T at most burst + rate × T \
            of them start, whichever coordinators and workers run. Commands without a limit pass those that wait.

            The starts of all commands to a destination are limited by “sluice network set URL --starts”.

            EXAMPLES
              sluice limit set quotes-api --starts 30/s --burst 5
              sluice limit set reports --starts 1000/day --at-once 4
              sluice submit request --limit quotes-api --payload @quote.json
              sluice limit list
              sluice limit show quotes-api
              sluice limit remove quotes-api
            """,
        subcommands: [LimitSetCommand.self, LimitListCommand.self, LimitShowCommand.self, LimitRemoveCommand.self])
}

struct LimitSetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Make or change a rate limit.",
        discussion: """
            It acts at once, survives restarts, and needs no running coordinator. An option that is not given keeps its \
            value. A new limit begins without tokens.

            EXAMPLES
              sluice limit set quotes-api --starts 30/s --burst 5
              sluice limit set reports --starts 1000/day --at-once 4
              sluice limit set reports --at-once none
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: "1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.")
    var name: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How many may start in a time: \(StartRate.forms).", valueName: "rate"))
    var starts: StartRate?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How many of these in one moment; default: a tenth of them, but at least those of a second.",
            valueName: "count"))
    var burst: BurstArgument?

    @Option(name: .long, help: ArgumentHelp("How many may run at the same time; none: no limit.", valueName: "count"))
    var atOnce: AtOnceArgument?

    func validate() throws {
        guard RateLimit.isName(name) else {
            throw ValidationError("'\(name)' is not the name of a rate limit: \(RateLimit.nameForm).")
        }
        if starts == nil && burst == nil && atOnce == nil {
            throw ValidationError("Give --starts, --burst or --at-once.")
        }
    }

    func run() throws {
        let queue = try data.queue(create: true)
        var change = RateLimitChange()
        change.starts = starts
        change.burst = burst.map(\.count)
        change.atOnce = atOnce.map(\.count)
        guard let limit = try queue.changeRateLimit(name, change) else {
            throw ExitError(.usage, "the limit “\(name)” is new: say how many may start, with --starts")
        }
        Output.line(
            print.json
                ? JSONValue.object(LimitText.members(name, limit)).bytes
                : Array("\(name): \(LimitText.sentence(limit))".utf8))
        try data.warn(of: queue)
    }
}

extension StartRate: ExpressibleByArgument {
    public init?(argument: String) {
        guard let rate = Self(text: argument) else {
            ArgumentForm.expect(Self.forms)
            return nil
        }
        self = rate
    }
}

/// Commands at the same time, or `none`.
enum AtOnceArgument: ExpressibleByArgument {
    case none
    case commands(Int)

    init?(argument: String) {
        if argument == "none" {
            self = .none
        } else if let count = Int(argument), (1...RateLimit.maxAtOnce).contains(count) {
            self = .commands(count)
        } else {
            ArgumentForm.expect("a number from 1 to \(RateLimit.maxAtOnce), or none")
            return nil
        }
    }

    var count: Int? { if case .commands(let count) = self { count } else { nil } }
}

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

struct LimitRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a rate limit.",
        discussion: """
            Commands that name it wait until a limit of that name is set again; “sluice explain” and “sluice limit list” \
            show them. To let them all go, set a high rate instead.

            EXAMPLES
              sluice limit remove quotes-api
            """)

    @OptionGroup var data: DataOptions

    @Argument(help: ArgumentHelp("The name of the limit.", valueName: "name"))
    var name: String

    func run() throws {
        let queue = try data.queue()
        guard let removed = try queue.removeRateLimit(name) else {
            throw ExitError(.input, try queue.missingLimit(name, data))
        }
        let waiting = removed.waiting
        Output.line("\(name): removed")
        if waiting > 0 {
            Diagnostics.say(
                "\(Figures.grouped(Int64(waiting))) ready \(waiting == 1 ? "command waits" : "commands wait") for it; "
                    + "“sluice limit set \(name) --starts RATE” lets them go on")
        }
        let users = removed.schedules.map { "“\($0)”" }
        if !users.isEmpty {
            Diagnostics.say(
                "the \(users.count == 1 ? "schedule" : "schedules") \(users.joined(separator: ", ")) "
                    + "\(users.count == 1 ? "names" : "name") it: the commands that \(users.count == 1 ? "it submits" : "they submit") "
                    + "will wait; put \(users.count == 1 ? "it" : "them") with another --limit or with none")
        }
        try data.warn(of: queue)
    }
}
