internal import ArgumentParser

struct LimitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Limit how many commands start in a time: by name, whatever their type and destination.",
        discussion: """
            A command names a limit with “sluice submit --limit NAME”, “limit” in a line of bulk or in a node of a flow. It \
            starts when the limit has a token for it, and each retry takes one too. In any time T at most burst + rate × T \
            of them start, whichever coordinators and workers run. Commands without a limit pass those that wait.

            The starts of all commands to a destination are limited by “sluice network set URL --starts”.

            EXAMPLES
              sluice limit set quotes-api --starts 30/s --burst 5
              sluice limit set reports --starts 1000/day --at-once 4
              sluice submit request --limit quotes-api --payload @quote.json
              sluice limit list
              sluice limit show quotes-api
              sluice limit remove quotes-api
            """,
        subcommands: [LimitSetCommand.self, LimitListCommand.self, LimitShowCommand.self, LimitRemoveCommand.self])
}
