internal import ArgumentParser
internal import Commands
internal import NetworkControl
internal import Queue

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
        let queue = try data.queue()
        let (entry, isNew) = try queue.pause(scope.entry(since: queue.now))
        report(
            entry,
            isNew ? "paused; “\(entry.resume)” lets it go on" : "was paused before, since \(entry.since)")
        if wait {
            Output.flush()
            try await PauseWaiter(queue, entry).run()
        }
    }

    private func report(_ entry: Pause, _ what: String) {
        Output.line(print.json ? entry.json.text : "\(entry.scope): \(what)")
    }
}
