internal import ArgumentParser
internal import Commands
internal import Console
internal import NetworkControl
internal import Queue

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
