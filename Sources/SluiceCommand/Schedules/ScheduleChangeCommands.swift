internal import ArgumentParser
internal import Commands
internal import Console
internal import Queue
internal import Store
internal import Wire

/// The names of schedules that a command changes.
struct ScheduleNames: ParsableArguments {
    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(help: "The names of the schedules.")
    var names: [String]

    /// - Parameter body: changes one schedule, nil to remove it.
    func change(_ word: String, _ body: (StoredSchedule, Timestamp) -> StoredSchedule?) throws {
        let (_, store) = try data.store()
        for name in names { _ = try store.requiredSchedule(name, data) }
        for name in names {
            try store.changeSchedule(name) { schedule throws(StoreError) in schedule.flatMap { body($0, .now) } }
            say(name, "\(word)\(try store.schedule(name).map { "; \(ScheduleText.next(of: $0, now: .now))" } ?? "")")
        }
        try data.warn(of: store)
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
        try names.change("paused") { schedule, _ in
            var schedule = schedule
            schedule.state = ScheduleTiming(schedule.definition, in: .system).paused(schedule.state)
            return schedule
        }
    }
}

struct ScheduleResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let paused schedules fire again; times of the pause are not missed.",
        discussion: "EXAMPLES\n  sluice schedule resume nightly")

    @OptionGroup var names: ScheduleNames

    func run() throws {
        try names.change("resumed") { schedule, now in
            var schedule = schedule
            schedule.state = ScheduleTiming(schedule.definition, in: .system).resumed(schedule.state, now: now)
            return schedule
        }
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

    func run() throws { try names.change("removed") { _, _ in nil } }
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
        let (directory, store) = try names.data.store()
        let hints = PendingHints(in: directory)
        defer { hints.send() }
        for name in names.names { _ = try store.requiredSchedule(name, names.data) }
        for name in names.names {
            let now = Timestamp.now
            try Output.require(bytes: 2 * SubmissionPrinter.lineBytes + name.utf8.count)
            let round = try store.fireSchedule(named: name, now: now)
            for problem in round.problems { throw ExitError(.data, problem) }
            hints.add(round.effects, of: nil)
            for id in round.changes.flatMap(\.ids) {
                hints.add(.ready, id)
                if names.print.json {
                    Output.line(
                        JSONValue.object([.init("schedule", .string(name)), .init("id", .string(id.description))]).bytes
                    )
                } else {
                    Output.line(id.description)
                }
            }
        }
        try names.data.warn(of: store)
    }
}
