internal import Commands
internal import Door
internal import HTTPTypes
internal import Host
internal import Logging
internal import NetworkControl
internal import Queue

/// The parts that the resources of the API share.
struct API: Sendable {
    typealias Handler = Endpoint.Handler

    static let root = "/api/v1"

    let door: DoorContext
    let actions: ActionRuns
    let linkReadings: LinkReadings
    let searches = SearchSlots()
    let runningKeys = RunningKeys()
    /// Makes one grant at a time: each reads the names that are taken before it writes.
    let grantThread = BlockingPool(named: "sluice-grants", maxThreads: 1)

    init(_ door: DoorContext, actions: ActionRuns) {
        self.door = door
        self.actions = actions
        linkReadings = LinkReadings(door.client.access)
    }

    var client: SluiceClient { door.client }

    /// Runs a reading, as ``QueueAccess/read(isUrgent:_:)``.
    /// - Throws: ``Problem``; the log has the cause of one that only the server explains.
    func read<Value: Sendable>(
        isUrgent: Bool = false, _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(Problem) -> Value {
        do { return try await client.read(isUrgent: isUrgent, body) } catch { throw problem(error) }
    }

    /// Runs a verb, as ``QueueAccess/write(_:)``; the errors are those of ``read(isUrgent:_:)``.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(Problem) -> Value {
        do { return try await client.write(body) } catch { throw problem(error) }
    }

    func problem(_ error: any Error) -> Problem {
        let error = SluiceError(error)
        let problem = Problem(error)
        if problem == .failed || problem == .storeUnavailable { door.logger.error("The store failed: \(error)") }
        return problem
    }

    /// Runs a call of the client.
    func change<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch  where SluiceError.isKnown(error) { throw problem(error) }
    }

    /// Logs a change with its actor. The reasons of transitions have it too, but settings have no timeline.
    func log(_ change: String, _ request: DoorRequest) {
        door.logger.info("\(change)", metadata: ["actor": "\(request.actor)", "request": "\(request.id)"])
    }

    /// The id in the path. Parts of ids are not accepted.
    /// - Throws: 404, because there is no resource of that name.
    func id(_ request: DoorRequest) throws(Problem) -> CommandID {
        guard let id = CommandID(request.parameters["id"] ?? "") else {
            throw Problem(.notFound, "command-not-found", "The last part of the path is not a UUID; send a whole one.")
        }
        return id
    }

    /// - Parameter scopes: the principal needs any of these; nil: no token is asked for.
    func endpoint(
        _ path: String, _ methods: (HTTPRequest.Method, Set<Scope>?, Handler)...
    ) -> Endpoint {
        Endpoint(
            Self.root + path,
            methods: Dictionary(uniqueKeysWithValues: methods.map { ($0.0, Endpoint.Method(scopes: $0.1, $0.2)) }))
    }
}

/// The links for all requests of a second: each reading subscribes at the coordinator, which then sends every link.
actor LinkReadings {
    private static let lifetime: Duration = .seconds(1)

    private let queue: QueueAccess
    private var newest: (task: Task<[LinkReport], any Error>, since: MonotonicTime)?

    init(_ queue: QueueAccess) { self.queue = queue }

    /// The links as they were at most a second ago.
    func readings() async throws -> [LinkReport] {
        if let newest, MonotonicTime.now < newest.since + Self.lifetime { return try await newest.task.value }
        let task = Task { [queue] in try await LinkSource(queue).readings() }
        newest = (task, .now)
        return try await task.value
    }

    /// Commands whose links are read at the same time, each by a subscription of its own.
    private static let maxAtOnce = 4
    private var running = 0

    /// The links that the reasons of a command depend on. Where many ask at once, one reading of all links is less work.
    func readings(for command: Command) async throws -> [LinkReport] {
        guard running < Self.maxAtOnce else { return try await readings() }
        running += 1
        defer { running -= 1 }
        return try await LinkSource(queue).readings(for: command)
    }

    /// Lets the next request read anew, because a setting has changed.
    func invalidate() { newest = nil }
}

/// The searches that run at the same time: each may look at commands for half a second on a thread of its own.
actor SearchSlots {
    static let max = 8

    private var running = 0

    /// Runs `body` in a slot.
    /// - Throws: ``Problem`` 503 where none is free, and the errors of `body`.
    func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        guard running < Self.max else {
            throw Problem(
                .serviceUnavailable, "too-many-searches",
                "\(Self.max) searches run, which is the maximum; send the request again in a second.",
                fields: [.retryAfter: "1"])
        }
        running += 1
        defer { running -= 1 }
        return try await body()
    }
}
