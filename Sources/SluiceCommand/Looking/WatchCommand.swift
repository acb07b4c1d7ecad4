internal import ArgumentParser
internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Queue
internal import Synchronization

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

/// Events as lines: of JSON, each with its topic, or of text.
struct WatchLines {
    let queue: QueueAccess
    let topics: [String]
    var asText = false

    /// Of the lines that are not events: flows, batches, ordering keys and schedules in brief.
    private static let overview = "overview"

    private static let metrics = Array("metrics/".utf8)

    func run() async throws {
        SignalHandling.exits()
        let feed = try EventFeed(queue.endpoints, prefixes: topics.isEmpty ? [""] : topics) { [topics, asText] frame in
            // Metrics are a few kilobytes for each process, every few seconds.
            if topics.isEmpty, frame.starts(with: Self.metrics) { return }
            if asText { Self.showText(frame) } else { Self.show(frame) }
        }
        if queue.coordinator == nil { Diagnostics.say("waiting for the coordinator") }
        let wantsOverview = !asText && (topics.isEmpty || topics.contains { Self.overview.hasPrefix($0) })
        if wantsOverview { startThread(named: "sluice-overview") { look() } }
        while true {
            // Events are shown soon, and a burst costs few writes.
            try await Task.sleep(for: .milliseconds(50))
            Output.flush()
            withExtendedLifetime(feed) {}
        }
    }

    /// Reads the store once a second, on a thread of its own because that blocks.
    private func look() {
        var last = RelationOverview()
        while true {
            // A read that fails is tried again; `sluice status` names the problem.
            if let overview = try? queue.relations(), overview != last {
                last = overview
                Output.line(
                    JSONValue.object(
                        [.init("topic", .string(Self.overview))] + overview.members
                            + [.init("at", .string(Timestamp.now.description))]
                    ).bytes)
            }
            usleep(1_000_000)
        }
    }

    private static let text = Mutex(EventText())

    private static func showText(_ frame: UnsafeRawBufferPointer) {
        guard let space = frame.firstIndex(of: UInt8(ascii: " ")),
            let topic = String(validating: frame[..<space], as: UTF8.self),
            let body = try? JSONValue(parsing: frame[(space + 1)...]),
            let line = text.withLock({ $0.line(topic: topic, body: body) })
        else { return }
        Output.line(line)
    }

    private static func show(_ frame: UnsafeRawBufferPointer) {
        guard let space = frame.firstIndex(of: UInt8(ascii: " ")), space + 1 < frame.count,
            frame[space + 1] == UInt8(ascii: "{"),
            let topic = String(validating: frame[..<space], as: UTF8.self)
        else { return }
        let members = frame[(space + 2)...]
        var line = Array("{\"topic\":".utf8)
        line += JSONValue.string(topic).bytes
        if members.first != UInt8(ascii: "}") { line.append(UInt8(ascii: ",")) }
        line += members
        Output.line(line)
    }
}
