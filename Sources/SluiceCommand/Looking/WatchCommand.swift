internal import ArgumentParser
internal import Commands
internal import Console
internal import Glibc

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Watch what happens: a live screen on a terminal, JSON lines elsewhere.",
        discussion: """
            Waits for a coordinator, and goes on when it restarts. “q” or Ctrl-C ends it. In JSON lines (--json, --topic, \
            or output that is not a terminal) each event has its “topic”. Whenever a monitor subscribes, every monitor \
            gets a snapshot, whose events have “snapshot”: true.
            Where there are flows, batches, ordering keys or schedules, a line with the topic “overview” has them in brief, as in \
            “sluice status --json”: at first, and at each change, at most one a second.
            On a terminal that moves no cursor (TERM=dumb) each event is a line of text.
            Metrics of the processes come only with --topic metrics/.
            The live screen shows the links that matter most, at most twenty, and the sum of the others. With --all it \
            shows as many links as fit in two thirds of the screen. JSON lines always contain every link.

            EXAMPLES
              sluice watch
              sluice watch --all
              sluice watch --json | jq -c 'select(.status == "tooManyTimes")'
              sluice watch --topic bandwidth/ --topic link/
              sluice watch --topic flow/ --topic schedule/
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions
    @OptionGroup var links: LinkOptions

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Only events whose topic starts with this prefix, as JSON lines; may be given several times.",
            valueName: "prefix"))
    var topic: [String] = []

    func run() async throws {
        let queue = try data.queue()
        if print.json || !topic.isEmpty || !Output.isTerminal {
            try await WatchLines(queue: queue, topics: topic).run()
        } else if Terminal.isDumb {
            try await WatchLines(queue: queue, topics: [], asText: true).run()
        } else {
            try await WatchLive(queue: queue, path: data.path, showsAllLinks: links.all).run()
        }
    }
}
