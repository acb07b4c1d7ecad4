internal import ArgumentParser
internal import Commands
internal import Store

/// Which commands `sluice list` shows.
struct ListOptions: ParsableArguments {
    @Option(name: .long, help: "Only commands in this status.")
    var status: CommandStatus?

    @Option(name: .long, help: "Only commands of this quality of service.")
    var qos: QualityOfService?

    @Option(
        name: .long, help: ArgumentHelp("Only commands to this origin, or the origin of this URL.", valueName: "url"))
    var destination: DestinationArgument?

    @Option(name: .long, help: "Only commands of this type.", completion: .list(CommandType.builtIn.sorted()))
    var type: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only commands with this text in a path, URL or name of the payload; the newest first.", valueName: "name"))
    var file: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only commands with this text in their reason, in upper or lower case; the newest first.",
            valueName: "text"))
    var error: String?

    @Option(name: .long, help: ArgumentHelp("Only commands submitted longer ago than this.", valueName: "duration"))
    var olderThan: DurationArgument?

    @Option(name: .long, help: ArgumentHelp("Only commands submitted within this time.", valueName: "duration"))
    var newerThan: DurationArgument?

    @Option(name: .long, help: ArgumentHelp("Only members of this batch.", valueName: "id"))
    var batch: BatchArgument?

    func validate() throws {
        if file?.isEmpty == true { throw ValidationError("--file needs a text.") }
        if error?.isEmpty == true { throw ValidationError("--error needs a text.") }
    }

    func filter(now: Timestamp) -> CommandFilter {
        var filter = CommandFilter(status: status, qos: qos, destination: destination?.destination)
        filter.type = type
        filter.batch = batch?.id
        filter.subject = file
        filter.reason = error
        filter.before = olderThan.map { Timestamp(milliseconds: now.milliseconds - $0.duration.milliseconds) }
        filter.from = newerThan.map { Timestamp(milliseconds: now.milliseconds - $0.duration.milliseconds) }
        return filter
    }
}
