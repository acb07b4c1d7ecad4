internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Submit commands and flows at times given by cron expressions.",
        discussion: """
            A coordinator (“sluice up”) submits what is due, each time once, whichever coordinator runs. A time that is \
            missed, because none ran, is made up once (--missed one); a time at which the command of the time before has \
            not ended is skipped (--overlap skip). Both are counted, and are events (schedule/NAME).

            Schedules may also stand in sluice.yaml, with the default zone beside them:

              schedules:
                zone: Europe/Berlin
                nightly: {cron: "30 2 * * *", command: {type: request, payload: {url: …, method: POST}}}

            The coordinator applies them when it starts, also after a reload (SIGHUP) of “sluice up”. All of them must be \
            usable, or none is changed and the log says why, with the line; “sluice doctor” says it too. A schedule that was \
            made from sluice.yaml is removed when it has vanished there. One whose text a person has put since, or put \
            before with the same text, stays. Pauses stay.

            EXAMPLES
              sluice schedule put nightly "30 2 * * *" request --zone Europe/Berlin \\
                --payload '{"url": "https://api.example.com/report", "method": "POST"}'
              sluice schedule put quotes "@every 10m" --flow quotes.yaml
              sluice schedule list
              sluice schedule show nightly --next 5
              sluice schedule apply schedules.yaml --prune
            """,
        subcommands: [
            SchedulePutCommand.self, ScheduleApplyCommand.self, ScheduleListCommand.self, ScheduleShowCommand.self,
            SchedulePauseCommand.self, ScheduleResumeCommand.self, ScheduleTriggerCommand.self,
            ScheduleRemoveCommand.self,
        ])
}

struct ScheduleListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the schedules: expression, next time, and how often each has fired and was skipped.",
        discussion: """
            EXAMPLES
              sluice schedule list
              sluice schedule list --json | jq 'select(.reason)'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    func run() throws {
        let queue = try data.queue()
        let schedules = try queue.schedules()
        let now = queue.now
        if print.json {
            for schedule in schedules { Output.line(JSONValue.object(ScheduleText.members(of: schedule)).bytes) }
        } else if schedules.isEmpty {
            Diagnostics.say("no schedules; “sluice schedule put --help” says how to make one")
        } else {
            var table = Table([
                ("NAME", .left), ("CRON", .left), ("ZONE", .left), ("SUBMITS", .left), ("FIRED", .right),
                ("SKIPPED", .right), ("NEXT", .left),
            ])
            for schedule in schedules {
                table.add([
                    schedule.name, schedule.definition.expression.description, schedule.definition.zone,
                    TerminalText.cut(ScheduleText.action(of: schedule), width: 30),
                    Figures.grouped(schedule.state.fired), Figures.grouped(schedule.state.skipped),
                    ScheduleText.next(of: schedule, now: now),
                ])
            }
            for line in table.lines {
                Output.line(Output.isTerminal ? TerminalText.cut(line, width: Terminal.size.columns) : line)
            }
        }
        try data.warn(of: queue)
    }
}

struct ScheduleShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a schedule and its next times.",
        discussion: """
            EXAMPLES
              sluice schedule show nightly
              sluice schedule show nightly --next 10 --json | jq -r '.times[].at'
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: "The name of the schedule.")
    var name: String

    @Option(name: .long, help: ArgumentHelp("How many of the next times to show.", valueName: "count"))
    var next = 3

    func validate() throws {
        if !(0...1000).contains(next) { throw ValidationError("--next must be from 0 to 1000.") }
    }

    func run() throws {
        let queue = try data.queue()
        let schedule = try queue.requiredSchedule(name, data)
        let now = queue.now
        let times: [UpcomingTime]
        do throws(TimeZoneError) {
            times = try ScheduleTiming(schedule.definition, in: .system).upcoming(
                next, after: max(now, schedule.state.since))
        } catch {
            times = []
        }
        if print.json {
            Output.line(
                JSONValue.object(ScheduleText.members(of: schedule) + [.init("times", .array(times.map(\.json)))]).bytes
            )
        } else {
            for (name, value) in facts(schedule, now) {
                Output.line(name + String(repeating: " ", count: max(10 - name.count, 1)) + value)
            }
            if !times.isEmpty { Output.line("") }
            for time in times {
                let late =
                    time.time.notBefore > time.time.nominal
                    ? ", \((time.time.notBefore - time.time.nominal).shortText) later" : ""
                let note = time.note.map { "  (\($0))" } ?? ""
                Output.line(
                    "\(ScheduleText.local(time.time.nominal, offset: time.offset))  in "
                        + "\((time.time.nominal - now).shortText)\(late)\(note)")
            }
        }
        try data.warn(of: queue)
    }

    private func facts(_ schedule: StoredSchedule, _ now: Timestamp) -> [(String, String)] {
        let (definition, state) = (schedule.definition, schedule.state)
        var facts = [
            ("name", schedule.name), ("cron", definition.expression.description), ("zone", definition.zone),
            ("submits", ScheduleText.action(of: schedule)), ("missed", "\(definition.missed)"),
            ("overlap", "\(definition.overlap)"),
        ]
        if definition.jitter > .zero { facts.append(("jitter", definition.jitter.shortText)) }
        facts.append(("fired", "\(state.fired), skipped \(state.skipped)"))
        if let last = state.last {
            let id = state.lastID.map { " as \($0)" } ?? ""
            facts.append(("last", "\(ScheduleText.local(last, definition.zone))\(id)"))
        }
        facts.append(("state", ScheduleText.next(of: schedule, now: now)))
        if schedule.isConfigured { facts.append(("from", "sluice.yaml")) }
        facts.append((definition.body.key, definition.body.value.text))
        return facts
    }
}

extension QueueAccess {
    /// - Throws: ``ExitError`` `input` where there is none of that name, with the nearest one.
    func requiredSchedule(_ name: String, _ data: DataOptions) throws -> StoredSchedule {
        if let schedule = try schedule(name) { return schedule }
        let near = NearestName.suggestion(for: name, among: try schedules().map(\.name))
        throw ExitError(.input, "there is no schedule “\(name)” in \(data.place)\(near)")
    }
}
