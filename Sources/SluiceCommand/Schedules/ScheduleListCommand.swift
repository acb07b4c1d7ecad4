internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

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
