internal import Door
internal import HTTPTypes
internal import Host
internal import Hummingbird

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
        let body: ResponseBody
        switch wanted {
        case .view(let filter):
            let source = ViewSource(view, filter: filter)
            body = ResponseBody { writer in try await slot.stream.run(source, &writer, retry: retry) }
        case .log(let filter, let after):
            tail.start()
            let source = LogSource(tail, reader, filter: filter, after: after)
            body = ResponseBody { writer in try await slot.stream.run(source, &writer, retry: retry) }
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store", .xAccelBuffering: "no"], body: body)
    }
}
