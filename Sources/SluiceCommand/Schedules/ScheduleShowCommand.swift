internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

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
