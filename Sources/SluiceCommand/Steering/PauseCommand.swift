internal import ArgumentParser
internal import Commands
internal import Coordination
internal import Inspection
internal import Sluice
internal import Store
internal import Wire

struct PauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let nothing new begin: everything, one quality of service, one destination.",
        discussion: """
            Running commands continue. A pause lasts until “sluice resume” with the same options; it needs no running \
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
        let pauses = Pause.parse(try store.settings(prefix: SettingKey.pausePrefix))
        if let earlier = pauses.first(where: { $0.key == entry.key }) {
            report(earlier, "was paused before, since \(earlier.since)")
            return
        }
        try store.set(entry.key, to: entry.since)
        HintSender.send(.settingsChanged, in: directory)
        report(entry, "paused; “\(entry.resume)” lets it go on")
    }

    private func report(_ entry: Pause, _ what: String) {
        Output.line(print.json ? entry.json.text : "\(entry.scope): \(what)")
    }
}
