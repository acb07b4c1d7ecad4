internal import ArgumentParser
internal import Commands
internal import NetworkControl
internal import Queue
internal import Store
internal import Wire

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let nothing new begin: everything, one quality of service, one destination.",
        discussion: """
            Running commands continue. A pause lasts until “sluice resume” with the same options; it needs no running \
            coordinator. Without options it pauses everything. --wait ends when none of the paused commands runs any more, so \
            that a file system can be unmounted or a server be restarted; Ctrl-C ends the wait and leaves the pause.

            EXAMPLES
              sluice pause
              sluice pause --destination file:///mnt/nas --wait && umount /mnt/nas
              sluice pause --qos background
              sluice pause --destination https://media.example.com
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var scope: PauseScope

    @Flag(name: .long, help: "Wait until none of these commands runs any more.")
    var wait = false

    func run() async throws {
        let (directory, store) = try data.store()
        let entry = scope.entry(since: .now)
        let pauses = Pause.parse(try store.settings(prefix: SettingKey.pausePrefix))
        if let earlier = pauses.first(where: { $0.key == entry.key }) {
            report(earlier, "was paused before, since \(earlier.since)")
        } else {
            try store.set(entry.key, to: entry.since)
            HintSender.send(.settingsChanged, in: directory)
            report(entry, "paused; “\(entry.resume)” lets it go on")
        }
        if wait {
            Output.flush()
            try await PauseWaiter(Instance(directory: directory, store: store), entry).run()
        }
    }

    private func report(_ entry: Pause, _ what: String) {
        Output.line(print.json ? entry.json.text : "\(entry.scope): \(what)")
    }
}
