internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct SchedulePutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Make or change a schedule.",
        discussion: """
            The expression has five fields (minute, hour, day of the month, month, day of the week), or six with seconds \
            first; or it is @hourly, @daily, @weekly, @monthly, @yearly, or @every 10m. Fields have *, lists, ranges, steps \
            and names; L is the last day of a month, 2#3 the third Tuesday, 5L the last Friday. Where a zone changes its \
            time, a time that does not exist is made up at the end of the gap, and one that exists twice fires once.

            A put with the same text changes nothing. New and changed times never fire for the past.

            EXAMPLES
              sluice schedule put beat "* * * * *" noop
              sluice schedule put nightly "30 2 * * *" request --zone Europe/Berlin --jitter 5m --overlap cancel \\
                --payload '{"url": "https://api.example.com/report", "method": "POST"}' --deadline 2h
              sluice schedule put quotes "0 */4 * * 1-5" --flow quotes.yaml --missed skip
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: "1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.")
    var name: String

    @Argument(help: ArgumentHelp("The cron expression, in quotes.", valueName: "cron"))
    var expression: String

    @Argument(
        help: ArgumentHelp("The type of the commands; none with --flow.", valueName: "type"),
        completion: .list(CommandType.builtIn.sorted()))
    var type: String?

    @Option(name: .long, help: ArgumentHelp("JSON, or @file. (default: {})", valueName: "json"), completion: .file())
    var payload: String?

    @Option(
        name: .long, help: ArgumentHelp("Submit this flow; its document is read now.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    var flow: String?

    @Option(name: .long, help: ArgumentHelp("The IANA name of the zone. (default: UTC)", valueName: "zone"))
    var zone: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Times at which no coordinator ran: one (the newest), skip, or all:N (the newest N). (default: one)",
            valueName: "policy"))
    var missed: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            What happens where the command of the time before has not ended: skip, queue (it waits), cancel (that one is \
            cancelled), or allow. (default: skip)
            """, valueName: "policy"))
    var overlap: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Delay each time by up to this, the same for one time in every coordinator.", valueName: "time"))
    var jitter: String?

    @Option(name: .long, help: ArgumentHelp("How late a time counts as missed. (default: 1m)", valueName: "time"))
    var grace: String?

    @Flag(name: .long, help: "Pause it: it fires when it is resumed.")
    var paused = false

    @Option(name: .long, help: ArgumentHelp("Quality of service of the commands.", valueName: "qos"))
    var qos: QualityOfService?

    @Option(name: .long, help: ArgumentHelp("Cancel each command this long after its time.", valueName: "time"))
    var deadline: String?

    @Option(name: .long, help: ArgumentHelp("Charged failures after which a command is given up.", valueName: "count"))
    var retryLimit: Int?

    @Option(
        name: .long,
        help: ArgumentHelp("The destination, where the operation does not know it.", valueName: "url"))
    var destination: String?

    @Option(name: .long, help: ArgumentHelp("The rate limit that their starts count against.", valueName: "name"))
    var limit: String?

    @Flag(name: .long, help: "Accept types that no worker has ever been able to run.")
    var allowUnknown = false

    func validate() throws {
        guard (type == nil) != (flow == nil) else { throw ValidationError("Give a type, or --flow.") }
        if flow != nil,
            payload != nil || qos != nil || deadline != nil || retryLimit != nil || destination != nil
                || limit != nil
        {
            throw ValidationError("The document of a flow has these options itself.")
        }
    }

    func run() async throws {
        let put = try definition()
        let queue = try data.queue(create: true)
        let check = ScheduleCheck(queue: queue, data: data)
        let action = try await check.prepare(put, allowUnknown: allowUnknown)
        let change = try queue.putSchedule(put, action, isConfigured: false)
        guard let stored = try queue.schedule(name) else { return }
        if print.json {
            Output.line(
                JSONValue.object([.init("change", .string(change.rawValue))] + ScheduleText.members(of: stored)).bytes)
        } else {
            Output.line("\(name) \(change.rawValue); \(ScheduleText.next(of: stored, now: queue.now))")
        }
        if let remark = put.definition.remark { Diagnostics.say(remark) }
        try data.warn(of: queue)
    }

    private func definition() throws -> SchedulePut {
        var members: [JSONValue.Member] = [.init("cron", .string(expression))]
        func add(_ name: String, _ text: String?) { if let text { members.append(.init(name, .string(text))) } }
        add("zone", zone)
        add("missed", missed)
        add("overlap", overlap)
        add("jitter", jitter)
        add("grace", grace)
        if paused { members.append(.init("paused", .bool(true))) }
        if let flow {
            members.append(.init("flow", try ScheduleFile.flow(flow)))
        } else {
            var command: [JSONValue.Member] = [.init("type", .string(type ?? ""))]
            if let payload { command.append(.init("payload", try ScheduleFile.payload(payload))) }
            if let qos { command.append(.init("qos", .string(qos.name))) }
            if let deadline { command.append(.init("deadline", .string(deadline))) }
            if let retryLimit { command.append(.init("retryLimit", .integer(Int64(retryLimit)))) }
            if let destination { command.append(.init("destination", .string(destination))) }
            if let limit { command.append(.init("limit", .string(limit))) }
            members.append(.init("command", .object(command)))
        }
        do throws(ScheduleError) {
            return try SchedulePut(.object(members), name: name)
        } catch {
            throw ExitError(.data, error.description)
        }
    }
}
