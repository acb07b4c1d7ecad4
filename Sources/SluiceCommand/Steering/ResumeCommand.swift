internal import ArgumentParser
internal import Commands
internal import Coordination
internal import Inspection
internal import Sluice
internal import Store
internal import Wire

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
        let pauses = Pause.parse(try store.settings(prefix: SettingKey.pausePrefix))
        let wanted = scope.entry(since: .now)
        let isAll = scope.qos == nil && scope.destination == nil
        let lifted = isAll ? pauses : pauses.filter { $0.key == wanted.key }
        for entry in lifted { try store.set(entry.key, to: nil) }
        if !lifted.isEmpty { HintSender.send(.settingsChanged, in: directory) }
        for entry in lifted {
            Output.line(print.json ? entry.json.text : "\(entry.scope): goes on")
        }
        if lifted.isEmpty, !print.json { Output.line("\(wanted.scope): was not paused") }
        for entry in pauses where !lifted.contains(entry) && !isAll {
            Diagnostics.say("still paused: \(entry.sentence); “\(entry.resume)” lifts it")
        }
    }
}
