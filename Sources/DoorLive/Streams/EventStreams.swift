internal import Commands
internal import Door
internal import HTTPTypes
internal import Host
internal import Queue

/// `GET /api/v1/events`: events as `text/event-stream` (HTML, section 9.2), of one of two streams.
///
/// `?stream=view`, the default, is for pages: frames `event: view`, at most four a second and 8 kB each, whose data is an
/// object with the parts of the state that have changed; the first frames have all parts. `parts`: the names of the
/// wanted ones, joined by commas: `asOf`, `coordinator`, `counts`, `rates`, `interval`, `running`, `links`, `uploads`,
/// `problems`, `workers`, `relations`, `pauses`, `warnings`. A client that is slow skips frames.
///
/// `?stream=log` is for programs: frames `event: log`, whose data is an array of transitions as in the event
/// `status/<id>` of PROTOCOL.md, 50 ms of them or 200. `id`, `destination` (or `none`), `status`, `type` and `qos` admit
/// some; each takes several values, joined by commas. The id of a frame is the number of the last transition of each
/// shard. `Last-Event-ID`, or `after` in the query, begins behind it, and `after=0` with the oldest transition; without
/// both a stream begins with the next one. A frame `event: gap` with `{"shard":0,"from":17,"to":40}` names transitions
/// that the store has no more. While more than 20,000 transitions a second are committed, all logs together get 5,000 of
/// them, and the others afterwards.
///
/// A comment comes after 15 s without another frame. A client that takes nothing for 5 s is disconnected. A stream ends
/// within a second of the end of its token or session, and at the shutdown of the door.
struct EventStreams: Sendable {
    static let path = "/api/v1/events"
    /// The time before a client connects again, in milliseconds. Clients of one door must not come at the same moment.
    private static let retry = 2000..<3000

    let registry: StreamRegistry
    let statistics: LiveStatistics
    let limits: StreamLimits
    let shardCount: Int
    let view: ViewHub
    let tail: LogTail
    let reader: LogReader

    var endpoint: Endpoint {
        Endpoint(
            Self.path, methods: [.get: .init(scopes: [.read]) { try await respond(to: $0) }], allowsOtherOrigins: true)
    }

    private func respond(to request: DoorRequest) async throws -> Response {
        guard let principal = request.principal else { throw Problem.failed }
        let wanted = try StreamRequest(request, shardCount: shardCount)
        let kind: StreamKind =
            switch wanted {
            case .view: .view
            case .log: .log
            }
        let slot = try registry.admit(EventStream(kind, request, principal, statistics))
        try? await request.connection.setSendBuffer(limits.sendBuffer)
        let retry = Int.random(in: Self.retry)
        let body: Response.Body
        switch wanted {
        case .view(let filter):
            let source = ViewSource(view, filter: filter)
            body = Response.Body { writer in try await slot.stream.run(source, &writer, retry: retry) }
        case .log(let filter, let after):
            tail.start()
            let source = LogSource(tail, reader, filter: filter, after: after)
            body = Response.Body { writer in try await slot.stream.run(source, &writer, retry: retry) }
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store", .xAccelBuffering: "no"], body: body)
    }
}

/// The query of `/api/v1/events`. Names that it does not know, and names of the other stream, are errors: a filter that
/// was mistyped would admit everything.
enum StreamRequest: Equatable {
    case view(Set<ViewPart>)
    case log(TransitionFilter, after: TransitionPosition?)

    private static let maxIDs = 1000

    init(_ request: DoorRequest, shardCount: Int) throws(Problem) {
        let query = request.query
        let name = query["stream"] ?? StreamKind.view.rawValue
        guard let kind = StreamKind(rawValue: name) else {
            throw Self.problem("“stream” is “\(name.excerpt)” and must be view or log.")
        }
        let known =
            switch kind {
            case .view: ["stream", "parts"]
            case .log: ["stream", "id", "destination", "status", "type", "qos", "after"]
            }
        if let item = query.items.first(where: { !known.contains($0.name) }) {
            throw Self.problem(
                "The stream “\(kind.rawValue)” does not take “\(item.name.excerpt)”; it takes "
                    + "\(known.joined(separator: ", ")).")
        }
        for name in ["stream", "after"] where query.items.count(where: { $0.name == name }) > 1 {
            throw Self.problem("“\(name)” occurs twice; send it once.")
        }
        switch kind {
        case .view:
            self = .view(
                try Self.set(query, "parts", Self.names(ViewPart.allCases.map(\.rawValue))) { ViewPart(rawValue: $0) }
                    ?? Set(ViewPart.allCases))
        case .log: self = .log(try Self.filter(query), after: try Self.position(request, shardCount))
        }
    }

    private static func filter(_ query: DoorQuery) throws(Problem) -> TransitionFilter {
        var filter = TransitionFilter()
        filter.ids = try set(query, "id", "the UUID of a command") { CommandID($0) }
        if let ids = filter.ids, ids.count > maxIDs { throw problem("“id” takes at most \(maxIDs) ids.") }
        filter.destinations = try set(query, "destination", "an origin such as https://media.example.com, or none") {
            $0 == "none" ? Destination.none : Destination($0)
        }
        filter.statuses = try set(query, "status", names(CommandStatus.allCases.map(\.name))) {
            CommandStatus(name: $0)
        }
        filter.types = try set(query, "type", "a type of commands: 1 to 64 of a-z, 0-9, “.” and “-”") {
            CommandDraft.isType($0) ? $0 : nil
        }
        filter.qos = try set(query, "qos", names(QualityOfService.allCases.map(\.name))) { QualityOfService(name: $0) }
        return filter
    }

    private static func names(_ names: [String]) -> String { "one of " + names.joined(separator: ", ") }

    /// A browser that connects again sends the old query, and the newer position in the field.
    private static func position(_ request: DoorRequest, _ shardCount: Int) throws(Problem) -> TransitionPosition? {
        // An event source without an event so far sends an empty field.
        let field = request.fields[.lastEventID].flatMap { $0.isEmpty ? nil : $0 }
        guard let text = field ?? request.query["after"] else { return nil }
        guard let position = TransitionPosition(text, shardCount: shardCount) else {
            throw problem(
                "“\(text.excerpt)” is not the id of an event of this store, which is \(shardCount) numbers joined by dots; "
                    + "send the last id of the stream, or 0 for everything.")
        }
        return position
    }

    /// The values of a name that may be given several times, each with several values joined by commas.
    /// - Parameter form: completes “… must be”.
    private static func set<Value: Hashable>(
        _ query: DoorQuery, _ name: String, _ form: String, _ read: (String) -> Value?
    ) throws(Problem) -> Set<Value>? {
        let items = query.items.filter { $0.name == name }
        guard !items.isEmpty else { return nil }
        var values: Set<Value> = []
        for text in items.flatMap({ $0.value.split(separator: ",", omittingEmptySubsequences: false) }) {
            guard let value = read(String(text)) else {
                throw problem("“\(name)” has “\(text.excerpt)” and must be \(form).")
            }
            values.insert(value)
        }
        return values
    }

    private static func problem(_ detail: String) -> Problem { Problem(.badRequest, "invalid-query", detail) }
}

extension HTTPField.Name {
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
    static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
