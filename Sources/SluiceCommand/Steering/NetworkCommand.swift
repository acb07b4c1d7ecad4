internal import ArgumentParser
internal import Commands
internal import Console
internal import NetworkControl
internal import Queue

struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "Show links and what holds them back; hold one offline or slow.",
        discussion: """
            Without a subcommand it shows the twenty links that matter most and the sum of the others; --all shows every \
            link. Open circuit breakers come first, then offline, poor and degraded links, then those with most traffic; \
            the uplink “*” of this host is always shown. The columns are the level, the goodput of the capacity, the \
            running transfers (middle and low + high quality of service) of the limit, the goodput of the last minute, \
            and the reason. --json prints every link.
            While a destination itself refuses commands, its circuit breaker is open: one probe a minute goes out, until \
            it accepts one. \
            Without a running coordinator it shows the links as the last one left them.

            EXAMPLES
              sluice network
              sluice network --all | grep media.example.com
              sluice network --json | jq -r 'select(.level != "good") | .destination'
              sluice network set https://media.example.com --level offline
              sluice network set https://api.example.com --starts 100/min
            """,
        subcommands: [NetworkShowCommand.self, NetworkSetCommand.self], defaultSubcommand: NetworkShowCommand.self)
}

struct NetworkShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show links and what holds them back (the default).")

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var links: LinkOptions

    func run() async throws {
        let queue = try data.queue()
        let source = LinkSource(queue)
        let overview = try await source.overview(limit: print.json ? nil : links.limit)
        if print.json {
            for link in overview.shown { Output.line(link.json.bytes) }
        } else if overview.count == 0 {
            Output.line("no link is known: nothing was sent yet")
        } else {
            let lines =
                Output.isTerminal
                ? LinkRows.blocks(overview, columns: Terminal.size.columns) : LinkRows.table(overview)
            for line in lines { Output.line(line) }
        }
        try data.warn(of: queue)
    }
}

struct NetworkSetCommand: ParsableCommand {
    enum Level: String, ExpressibleByArgument, CaseIterable {
        case offline, auto
    }

    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Hold a destination offline, or limit its rate or its starts.",
        discussion: """
            It acts at once, survives restarts, and needs no running coordinator. An option that is not given keeps its \
            value. \
            Offline means that nothing goes there, not even a probe, until “--level auto”.

            EXAMPLES
              sluice network set https://media.example.com --level offline
              sluice network set https://media.example.com --level auto --max-rate 20Mbit
              sluice network set https://media.example.com --max-rate none
              sluice network set https://api.example.com --starts 100/min --burst 10
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: ArgumentHelp("The origin, or the origin of this URL.", valueName: "url"))
    var destination: DestinationArgument

    @Option(name: .long, help: "offline: nothing goes there; auto: as measured.")
    var level: Level?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The maximum of all transfers together: 20Mbit, 250kB or bytes per second (at least 1000); none: no limit.",
            valueName: "rate"))
    var maxRate: RateArgument?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How many commands may start there in a time, as in 30/s or 100/min; none: as sluice.yaml says.",
            valueName: "rate"))
    var starts: StartRateArgument?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How many of those in one moment. (default: a tenth of them, but at least those of a second)",
            valueName: "count")
    )
    var burst: BurstArgument?

    func validate() throws {
        if level == nil && maxRate == nil && starts == nil && burst == nil {
            throw ValidationError("Give --level, --max-rate, --starts or --burst.")
        }
    }

    func run() throws {
        let queue = try data.queue()
        let destination = destination.destination
        var change = LinkOverrideChange()
        change.isOffline = level.map { $0 == .offline }
        change.maxRate = maxRate.map(\.bytesPerSecond)
        change.starts = starts.map(\.rate)
        change.burst = burst.map(\.count)
        let before = try queue.overrideSetting(of: destination)
        if burst?.count != nil, starts?.rate == nil, starts != nil || before?.override.starts == nil {
            throw ExitError(.usage, "--burst needs --starts, which \(destination) does not have")
        }
        let (override, setting) = try queue.changeLink(to: destination, change)
        report(destination, override, setting)
    }

    private func report(_ destination: Destination, _ override: LinkOverride, _ setting: LinkOverrideSetting?) {
        if print.json {
            Output.line(override.json(of: destination, setting).bytes)
            return
        }
        let rate = override.maxRate.map { "at most \(Figures.bytes($0))/s" } ?? "no limit of its rate"
        let starts =
            override.starts.map { starts in
                "; starts \(starts), at most \(override.burst ?? starts.defaultBurst) in one moment"
            } ?? ""
        let level =
            override.isOffline
            ? "held offline; “sluice network set \(destination) --level auto” lifts it" : "as measured"
        Output.line("\(destination): \(level); \(rate)\(starts)\(setting.map { "; since \($0.since)" } ?? "")")
    }
}

/// `2Mbit`, `250kB`, bytes per second, or `none`.
enum RateArgument: ExpressibleByArgument {
    case none
    case bytesPerSecond(Int64)

    init?(argument: String) {
        if argument == "none" {
            self = .none
        } else if let rate = RateText.bytesPerSecond(argument), rate >= DestinationLimits.minRate {
            self = .bytesPerSecond(rate)
        } else {
            ArgumentForm.expect("\(RateText.examples), at least \(DestinationLimits.minRate), or none")
            return nil
        }
    }

    var bytesPerSecond: Int64? { if case .bytesPerSecond(let rate) = self { rate } else { nil } }
}

/// `30/s`, `100/min`, or `none`.
enum StartRateArgument: ExpressibleByArgument {
    case none
    case rate(StartRate)

    init?(argument: String) {
        if argument == "none" {
            self = .none
        } else if let rate = StartRate(text: argument) {
            self = .rate(rate)
        } else {
            ArgumentForm.expect("\(StartRate.forms), or none")
            return nil
        }
    }

    var rate: StartRate? { if case .rate(let rate) = self { rate } else { nil } }
}

/// Starts in one moment, or `default`.
enum BurstArgument: ExpressibleByArgument {
    case byRate
    case starts(Int)

    init?(argument: String) {
        if argument == "default" {
            self = .byRate
        } else if let count = Int(argument), (1...StartRate.maxBurst).contains(count) {
            self = .starts(count)
        } else {
            ArgumentForm.expect("a number from 1 to \(StartRate.maxBurst), or default")
            return nil
        }
    }

    var count: Int? { if case .starts(let count) = self { count } else { nil } }
}
