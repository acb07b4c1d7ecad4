public import ArgumentParser
public import Commands
internal import Console
internal import Queue

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
