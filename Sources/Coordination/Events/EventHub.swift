internal import Commands
internal import Logging
internal import NetworkControl
internal import Store
internal import Wire
internal import ZeroMQ

/// Publishes events to monitors. Makes JSON only for topics that have a subscriber. Confined to the
/// coordinator's loop.
struct EventHub: ~Copyable {
    let socket: Socket
    private var prefixes: [[UInt8]: Int] = [:]
    /// Commands whose own topic is subscribed: a process waits for their ends.
    private(set) var watched: Set<CommandID> = []
    private var writer = JSONWriter(capacity: 1024)
    private let logger: Logger
    /// Whether the statuses of all commands are wanted.
    private(set) var wantsStatuses = false
    private(set) var wantsProgress = false
    private(set) var wantsBandwidth = false
    private(set) var wantsCounts = false
    /// The links whose events are wanted.
    private(set) var linkTopics = LinkTopics()
    /// Whether a topic of a flow is wanted.
    private(set) var wantsFlows = false
    /// Whether topics of flows are wanted that no subscriber names.
    private(set) var wantsAllFlows = false
    /// Flows whose own topic is subscribed.
    private(set) var watchedFlows: Set<CommandID> = []

    init(socket: consuming Socket, logger: Logger) {
        self.socket = socket
        self.logger = logger
    }

    /// The subscriptions that have come since the last call.
    struct NewSubscriptions {
        /// Commands whose own topic was subscribed.
        var commands: [CommandID] = []
        var prefixes: [[UInt8]] = []
        /// Flows whose own topic was subscribed.
        var flows: [CommandID] = []
        /// Topics of flows are wanted that no subscriber names.
        var hasAllFlows = false

        var linkTopics: LinkTopics { LinkTopics(prefixes) }

        /// Whether a subscriber wants topics that begin with this.
        func want(_ topic: String) -> Bool {
            let topic = Array(topic.utf8)
            return prefixes.contains { $0.starts(with: topic) || topic.starts(with: $0) }
        }
    }

    /// Reads the subscriptions that have come.
    mutating func receiveSubscriptions() -> NewSubscriptions {
        var new = NewSubscriptions()
        var havePrefixesChanged = false
        do {
            while let frame = try socket.receive({ Array($0) }) {
                guard let kind = frame.first else { continue }
                let prefix = Array(frame.dropFirst())
                if let id = Self.command(prefix, after: Self.statusPrefix) {
                    if kind == 1 {
                        watched.insert(id)
                        new.commands.append(id)
                    } else {
                        // libzmq reports only the last unsubscription of a prefix.
                        watched.remove(id)
                    }
                } else {
                    havePrefixesChanged = true
                    if kind == 1 {
                        prefixes[prefix, default: 0] += 1
                        new.prefixes.append(prefix)
                        if let id = Self.command(prefix, after: Self.flowPrefix) {
                            new.flows.append(id)
                        } else if Self.wants("flow/", prefix) {
                            new.hasAllFlows = true
                        }
                    } else {
                        prefixes[prefix] = nil
                    }
                }
            }
        } catch {
            logger.error("Subscriptions cannot be read: \(error)")
        }
        guard havePrefixesChanged else { return new }
        wantsStatuses = wants("status/")
        wantsProgress = wants("progress/")
        wantsBandwidth = wants("bandwidth/")
        wantsCounts = wants("counts")
        linkTopics = LinkTopics(prefixes.keys)
        wantsFlows = wants("flow/")
        watchedFlows = Set(prefixes.keys.compactMap { Self.command($0, after: Self.flowPrefix) })
        wantsAllFlows = prefixes.keys.contains {
            Self.wants("flow/", $0) && Self.command($0, after: Self.flowPrefix) == nil
        }
        return new
    }

    /// The command whose topic this is; nil for any other prefix.
    private static func command(_ prefix: [UInt8], after kind: [UInt8]) -> CommandID? {
        guard prefix.count == kind.count + 36, prefix.starts(with: kind) else { return nil }
        return CommandID(String(decoding: prefix.dropFirst(kind.count), as: UTF8.self))
    }

    private static let statusPrefix = Array("status/".utf8)
    private static let flowPrefix = Array("flow/".utf8)

    mutating func status(_ event: StatusEvent, snapshot: Bool = false) {
        publish { Event.status(event, snapshot: snapshot, to: &$0) }
    }

    mutating func transfers(_ transfers: TransferReport, worker: Int, at: Timestamp) {
        if wantsProgress {
            for transfer in transfers.transfers where transfer.hasMoved {
                publish { Event.progress(transfer, at: at, to: &$0) }
            }
        }
        if wantsBandwidth {
            for link in transfers.links where link.allBytes > 0 {
                publish { Event.bandwidth(link, worker: worker, at: at, to: &$0) }
            }
        }
    }

    mutating func bandwidth(_ link: TransferReport.Link, worker: Int, at: Timestamp) {
        publish { Event.bandwidth(link, worker: worker, at: at, snapshot: true, to: &$0) }
    }

    mutating func worker(_ record: WorkerRecord, state: String, at: Timestamp, snapshot: Bool = false) {
        publish {
            Event.worker(
                seat: record.seat, pid: record.pid, state: state, concurrency: record.concurrency,
                inFlight: record.state.executing, at: at, snapshot: snapshot, to: &$0)
        }
    }

    mutating func link(_ report: LinkReport, at: Timestamp, snapshot: Bool = false) {
        publish { Event.link(report.destination, report.members, at: at, snapshot: snapshot, to: &$0) }
    }

    /// An event of an execution. It passes unchanged.
    mutating func published(_ event: Published) {
        guard event.isValid, wants(event.topic) else { return }
        publish { writer in
            writer.raw(event.topic)
            writer.raw(" ")
            writer.raw(event.body)
        }
    }

    /// - Parameter body: a JSON object on one line.
    mutating func schedule(_ topic: String, _ body: String) {
        publish { writer in
            writer.raw(topic)
            writer.raw(" ")
            writer.raw(body)
        }
    }

    mutating func counts(_ counts: CommandCounts, at: Timestamp, snapshot: Bool = false) {
        let cells = CommandStatus.allCases.map { ($0, counts[$0]) }
        publish { Event.counts(cells, at: at, snapshot: snapshot, to: &$0) }
    }

    mutating func flow(_ flow: FlowState, at: Timestamp, snapshot: Bool) {
        guard wantsAllFlows || watchedFlows.contains(flow.command.id) else { return }
        publish { Event.flow(flow, at: at, snapshot: snapshot, to: &$0) }
    }

    mutating func gap(shard: Int, _ range: ClosedRange<Int64>) {
        publish { Event.gap(shard: shard, from: range.lowerBound, to: range.upperBound, writer: &$0) }
    }

    /// Whether a prefix of the topic is subscribed, or a longer topic that begins with it.
    func wants(_ topic: String) -> Bool {
        let topic = Array(topic.utf8)
        return prefixes.keys.contains { $0.starts(with: topic) || topic.starts(with: $0) }
    }

    private static func wants(_ topic: String, _ prefix: [UInt8]) -> Bool {
        prefix.starts(with: topic.utf8) || topic.utf8.starts(with: prefix)
    }

    private mutating func publish(_ write: (inout JSONWriter) -> Void) {
        writer.removeAll()
        write(&writer)
        do {
            // A monitor that does not read loses events and sees the gap in `seq`. The coordinator does not
            // wait for it.
            try socket.send(writer.bytes)
        } catch {
            logger.error("An event cannot be published: \(error)")
        }
    }
}

/// The links whose events monitors have subscribed to. Pure.
///
/// A monitor that needs one link subscribes to its whole topic, with the space behind it (`link/http://a:80 `), and costs the
/// reports of that link only.
struct LinkTopics: Sendable, Equatable {
    private static let kind = Array("link/".utf8)

    /// Every link is wanted.
    private(set) var hasAll = false
    /// The names of links whose whole topics are subscribed.
    private(set) var names: Set<String> = []
    /// Beginnings of the names of links.
    private(set) var beginnings: Set<[UInt8]> = []

    /// - Parameter prefixes: of topics of any kind.
    init(_ prefixes: some Sequence<[UInt8]> = []) {
        for prefix in prefixes {
            if Self.kind.starts(with: prefix) {
                hasAll = true
            } else if prefix.starts(with: Self.kind) {
                add(prefix.dropFirst(Self.kind.count))
            }
        }
    }

    private mutating func add(_ text: ArraySlice<UInt8>) {
        // libzmq compares what a subscription has behind the topic with the body of the event.
        if let end = text.firstIndex(of: UInt8(ascii: " ")) {
            names.insert(String(decoding: text[..<end], as: UTF8.self))
        } else {
            beginnings.insert(Array(text))
        }
    }

    var isEmpty: Bool { self == LinkTopics() }

    /// - Parameter name: of a link (``LinkKey/name``).
    func contains(_ name: String) -> Bool {
        hasAll || names.contains(name) || beginnings.contains { name.utf8.starts(with: $0) }
    }

    /// The wanted links, in the order of their names and directions.
    /// - Parameter all: every link; called where the topics do not name the wanted ones. Where they do, links that do not exist
    ///   are among the keys.
    func keys(of all: () -> [LinkKey]) -> [LinkKey] {
        let isNamed = !hasAll && beginnings.isEmpty
        let keys =
            isNamed
            ? names.flatMap { [LinkKey(name: $0, .up), LinkKey(name: $0, .down)] }
            : all().filter { contains($0.name) }
        return keys.map { ($0.name, $0) }.sorted { ($0.0, $0.1.direction.rawValue) < ($1.0, $1.1.direction.rawValue) }
            .map(\.1)
    }
}
