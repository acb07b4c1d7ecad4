internal import ArgumentParser

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
