internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

struct LimitRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a rate limit.",
        discussion: """
            Commands that name it wait until a limit of that name is set again; “sluice explain” and “sluice limit list” \
            show them. To let them all go, set a high rate instead.

            EXAMPLES
              sluice limit remove quotes-api
            """)

    @OptionGroup var data: DataOptions

    @Argument(help: ArgumentHelp("The name of the limit.", valueName: "name"))
    var name: String

    func run() throws {
        let queue = try data.queue()
        guard let removed = try queue.removeRateLimit(name) else {
            throw ExitError(.input, try queue.missingLimit(name, data))
        }
        let waiting = removed.waiting
        Output.line("\(name): removed")
        if waiting > 0 {
            Diagnostics.say(
                "\(Figures.grouped(Int64(waiting))) ready \(waiting == 1 ? "command waits" : "commands wait") for it; "
                    + "“sluice limit set \(name) --starts RATE” lets them go on")
        }
        let users = removed.schedules.map { "“\($0)”" }
        if !users.isEmpty {
            Diagnostics.say(
                "the \(users.count == 1 ? "schedule" : "schedules") \(users.joined(separator: ", ")) "
                    + "\(users.count == 1 ? "names" : "name") it: the commands that \(users.count == 1 ? "it submits" : "they submit") "
                    + "will wait; put \(users.count == 1 ? "it" : "them") with another --limit or with none")
        }
        try data.warn(of: queue)
    }
}
