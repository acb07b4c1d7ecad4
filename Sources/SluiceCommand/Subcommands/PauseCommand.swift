internal import ArgumentParser
internal import Commands
internal import Store
internal import Wire

/// What `pause` and `resume` are about.
struct PauseScope: ParsableArguments {
    @Option(name: .long, help: "Only this quality of service.")
    var qos: QualityOfService?

    @Option(name: .long, help: ArgumentHelp("Only this origin, or the origin of this URL.", valueName: "url"))
    var destination: DestinationArgument?

    func entry(since: Timestamp) -> PauseList.Entry {
        PauseList.Entry(qos: qos, destination: destination?.destination, since: since.description)
    }
}

struct PauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let nothing new begin: everything, one quality of service, one destination.",
        discussion: """
            What runs goes on. A pause lasts until “sluice resume” with the same options; it needs no running \
            coordinator. Without options it pauses everything.

            EXAMPLES
              sluice pause
              sluice pause --qos background
              sluice pause --destination https://media.example.com
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var scope: PauseScope

    func run() throws {
        let (directory, store) = try data.store()
        let entry = scope.entry(since: .now)
        if let earlier = try PauseList(store: store).entries.first(where: { $0.key == entry.key }) {
            report(earlier, "was paused before, since \(earlier.since)")
            return
        }
        try store.set(entry.key, to: entry.since)
        Hints.send(.settingsChanged, in: directory)
        report(entry, "paused; “\(entry.resume)” lets it go on")
    }

    private func report(_ entry: PauseList.Entry, _ what: String) {
        Output.line(print.json ? entry.json.text : "\(entry.what): \(what)")
    }
}

struct ResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Lift a pause.",
        discussion: """
            Lifts the pause that was made with the same options; without options, every pause.

            EXAMPLES
              sluice resume
              sluice resume --qos background
              sluice resume --destination https://media.example.com
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var scope: PauseScope

    func run() throws {
        let (directory, store) = try data.store()
        let pauses = try PauseList(store: store).entries
        let wanted = scope.entry(since: .now)
        let isAll = scope.qos == nil && scope.destination == nil
        let lifted = isAll ? pauses : pauses.filter { $0.key == wanted.key }
        for entry in lifted { try store.set(entry.key, to: nil) }
        if !lifted.isEmpty { Hints.send(.settingsChanged, in: directory) }
        for entry in lifted {
            Output.line(print.json ? entry.json.text : "\(entry.what): goes on")
        }
        if lifted.isEmpty, !print.json { Output.line("\(wanted.what): was not paused") }
        for entry in pauses where !lifted.contains(entry) && !isAll {
            Diagnostics.say("still paused: \(entry.sentence); “\(entry.resume)” lifts it")
        }
    }
}
