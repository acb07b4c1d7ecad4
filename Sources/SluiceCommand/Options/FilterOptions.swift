internal import ArgumentParser
internal import Commands

/// The commands that a subcommand lists or changes, by what they are. The quality of service is an option of its own,
/// because `requalify` has two.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Only commands in this status; may be given several times. gaveUp is tooManyTimes in JSON.",
            valueName: "status"))
    var status: [CommandStatus] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only commands that failed within this time: error, gaveUp or inDoubt.", valueName: "duration"))
    var failedWithin: DurationArgument?

    @Option(
        name: .long, help: ArgumentHelp("Only commands to this origin, or the origin of this URL.", valueName: "url"))
    var destination: DestinationArgument?

    @Option(name: .long, help: "Only commands of this type.", completion: .list(CommandType.builtIn.sorted()))
    var type: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Only commands with this text in a path, URL or name of the payload.", valueName: "name"))
    var file: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only commands with this text in their reason, in upper or lower case.", valueName: "text"))
    var error: String?

    @Option(name: .long, help: ArgumentHelp("Only commands submitted longer ago than this.", valueName: "duration"))
    var olderThan: DurationArgument?

    @Option(name: .long, help: ArgumentHelp("Only commands submitted within this time.", valueName: "duration"))
    var newerThan: DurationArgument?

    @Option(name: .long, help: ArgumentHelp("Only members of this batch.", valueName: "id"))
    var batch: BatchArgument?

    /// The statuses of a failure.
    private static let failed: Set<CommandStatus> = [.error, .tooManyTimes, .inDoubt]

    func validate() throws {
        for (name, text) in [("--file", file), ("--error", error), ("--type", type)] where text?.isEmpty == true {
            throw ValidationError("\(name) needs a text.")
        }
        if failedWithin != nil, let other = status.first(where: { !Self.failed.contains($0) }) {
            throw ValidationError("--failed-within is about failures, and “\(other.word)” is not one.")
        }
    }

    /// Whether one of the options is given.
    var isGiven: Bool { filter(now: .zero) != CommandFilter() }

    func filter(qos: QualityOfService? = nil, now: Timestamp) -> CommandFilter {
        var filter = CommandFilter(qos: qos, destination: destination?.destination)
        filter.statuses = Set(status)
        filter.type = type
        filter.batch = batch?.id
        filter.subject = file
        filter.reason = error
        filter.before = olderThan.map { now + (.zero - $0.duration) }
        filter.from = newerThan.map { now + (.zero - $0.duration) }
        if let failedWithin {
            filter.changedFrom = now + (.zero - failedWithin.duration)
            if status.isEmpty { filter.statuses = Self.failed }
        }
        return filter
    }
}
