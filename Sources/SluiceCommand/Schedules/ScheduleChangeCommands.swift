internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue

/// The names of schedules that a command changes.
struct ScheduleNames: ParsableArguments {
    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: "The names of the schedules.")
    var names: [String]

    /// - Parameter body: changes the schedule of a name, and returns it; nil where it is removed.
    func change(_ word: String, _ body: (QueueAccess, String) throws -> StoredSchedule?) throws {
        let queue = try data.queue()
        for name in names { _ = try queue.requiredSchedule(name, data) }
        for name in names {
            let changed = try body(queue, name)
            say(name, "\(word)\(changed.map { "; \(ScheduleText.next(of: $0, now: queue.now))" } ?? "")")
        }
        try data.warn(of: queue)
    }

    func say(_ name: String, _ text: String) {
        if print.json {
            Output.line(JSONValue.object([.init("schedule", .string(name)), .init("message", .string(text))]).bytes)
        } else {
            Output.line("\(name) \(text)")
        }
    }
}

struct SchedulePauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Let schedules fire no more, until they are resumed.",
        discussion: "EXAMPLES\n  sluice schedule pause nightly")

    @OptionGroup var names: ScheduleNames

    func run() throws {
        try names.change("paused") { queue, name in try queue.pauseSchedule(name) }
    }
}

struct ScheduleResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let paused schedules fire again; times of the pause are not missed.",
        discussion: "EXAMPLES\n  sluice schedule resume nightly")

    @OptionGroup var names: ScheduleNames

    func run() throws {
        try names.change("resumed") { queue, name in try queue.resumeSchedule(name) }
    }
}

struct ScheduleRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove schedules. The commands that they have submitted stay.",
        discussion: """
            One that is in sluice.yaml comes back when the coordinator starts again: remove it there, or pause it.

            EXAMPLES
              sluice schedule remove nightly
            """)

    @OptionGroup var names: ScheduleNames

    func run() throws {
        try names.change("removed") { queue, name in
            _ = try queue.removeSchedule(name)
            return nil
        }
    }
}

struct ScheduleTriggerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trigger", abstract: "Submit what schedules submit now, whatever their times. Prints the UUIDs.",
        discussion: """
            Paused schedules can be triggered too. With --overlap queue or cancel the command waits for the one before.

            EXAMPLES
              sluice schedule trigger nightly
            """)

    @OptionGroup var names: ScheduleNames

    func run() throws {
        let queue = try names.data.queue()
        for name in names.names { _ = try queue.requiredSchedule(name, names.data) }
        for name in names.names {
            try Output.require(bytes: 2 * SubmissionPrinter.lineBytes + name.utf8.count)
            let (ids, problem) = try queue.triggerSchedule(name)
            if let problem { throw ExitError(.data, problem) }
            for id in ids {
                if names.print.json {
                    Output.line(
                        JSONValue.object([.init("schedule", .string(name)), .init("id", .string(id.description))]).bytes
                    )
                } else {
                    Output.line(id.description)
                }
            }
        }
        try names.data.warn(of: queue)
    }
}
