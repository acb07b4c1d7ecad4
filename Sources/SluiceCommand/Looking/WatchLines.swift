internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Queue
internal import Synchronization

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
