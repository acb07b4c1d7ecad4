internal import Commands
internal import Door
internal import HTTPTypes
internal import Host
internal import Logging
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
