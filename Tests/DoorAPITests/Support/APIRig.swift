import BuiltIn
import Commands
import DoorAPI
import Glibc
import Host
import Logging
import Membership
import Queue
import Store
import TestSupport
import UploadSpool
import Uploads

@testable import Door

/// The endpoints of the API behind a server on a free port, with a store of its own.
final class APIRig: Sendable {
    let directory: TemporaryDirectory
    let store: any CommandStore
    let client: SluiceClient
    let actions: ActionRuns
    let endpoints: [Endpoint]
    let port: Int

    private init(
        _ directory: TemporaryDirectory, _ store: any CommandStore, _ client: SluiceClient, _ actions: ActionRuns,
        _ endpoints: [Endpoint], port: Int
    ) {
        self.directory = directory
        self.store = store
        self.client = client
        self.actions = actions
        self.endpoints = endpoints
        self.port = port
    }

    /// - Parameter submit: what may be submitted.
    static func with(
        submit: SubmitAllowance = SubmitAllowance(), _ body: (APIRig) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory("api")
        defer { directory.remove() }
        let data = DataDirectory(path: "\(directory.path)/data")
        let opened = try Stores.open(.directory(data), create: true, shardCount: 4)
        let store = opened.store
        // The principal of requests without another token, as ``TestToken`` has it: it makes tokens.
        let principal = TokenRecord(
            id: "all", name: "test", digest: [UInt8](repeating: 0, count: 32), scopes: Set(Scope.allCases),
            created: .now)
        try store.set(SettingKey.accessToken(principal.id), to: principal.setting)
        let registry = BuiltInOperations.registry()
        let client = try SluiceClient(opened, registry: registry)
        var logger = Logger(label: "api")
        logger.logLevel = .critical
        var configuration = DoorConfiguration()
        configuration.submit = submit
        let engine = UploadEngine(
            store: store, spool: SpoolDirectory(path: data.resolved.uploads), logger: logger, hint: { _ in })
        _ = try await engine.recover()
        let authenticator = Authenticator(
            tokens: TokenCache(TokenStore(store), logger: logger),
            cookie: SessionCookie(basePath: "", isSecure: false), logger: logger)
        let context = DoorContext(
            client: client, uploads: engine, routes: UploadRoutes(), registry: { _ in registry },
            authenticator: authenticator, configuration: configuration, statistics: DoorStatistics(), logger: logger)
        let actions = ActionRuns(client)
        let endpoints = try await APIPart(actions).endpoints(context)
        var server = DoorServerConfiguration()
        (server.host, server.port) = ("127.0.0.1", 0)
        let door = DoorServer(server, endpoints: endpoints, logger: logger) { request throws(Problem) in
            TestToken.principal(request)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do { try await door.run() } catch is CancellationError { return }
            }
            let rig = APIRig(directory, store, client, actions, endpoints, port: try await door.port())
            try await body(rig)
            await actions.stop()
            group.cancelAll()
            try await group.waitForAll()
        }
        await client.close()
    }

    /// Sends a request and reads its response.
    /// - Parameter token: see ``TestToken``; nil sends none.
    func send(
        root: String = "/api/v1", _ method: String, _ path: String, token: String? = "all",
        fields: [(String, String)] = [], type: String? = nil,
        body: [UInt8]? = nil
    ) async throws -> APIResponse {
        var head = "\(method) \(root)\(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if let type { head += "Content-Type: \(type)\r\n" }
        if body != nil || method == "POST" || method == "PATCH" { head += "Content-Length: \(body?.count ?? 0)\r\n" }
        let bytes = Array((head + "\r\n").utf8) + (body ?? [])
        let port = port
        return try await BlockingPool.shared.run {
            try APIResponse(exchange(bytes, port: port), isHead: method == "HEAD")
        }
    }

    func get(
        _ path: String, token: String? = "all", fields: [(String, String)] = []
    ) async throws -> APIResponse {
        try await send("GET", path, token: token, fields: fields)
    }

    func post(
        _ path: String, _ body: JSONValue? = nil, token: String? = "all", fields: [(String, String)] = []
    ) async throws -> APIResponse {
        try await send(
            "POST", path, token: token, fields: fields, type: body == nil ? nil : "application/json",
            body: body?.bytes)
    }

    /// Claims and ends a command as a worker does.
    func execute(_ id: CommandID, ending: ExecutionResult = .success(result: Array("{\"echo\":1}".utf8))) throws {
        let shard = id.shard(of: store.shardCount)
        guard case .claimed(let command, _, _, _)? = try claim(id) else { throw Missed("the claim was refused") }
        _ = try store.apply([.end(id, claim: command.claim, ending)], shard: shard, seat: 0, epoch: 7)
    }

    /// Claims a command and does not end it.
    @discardableResult
    func claim(_ id: CommandID) throws -> ExecutionOutcome? {
        let session = Session(seat: 0, epoch: 7, pid: getpid(), startTime: 1, bootID: "test")
        if try store.sessions().isEmpty { try store.open(session) }
        let shard = id.shard(of: store.shardCount)
        return try store.apply([.claim(id, sent: true)], shard: shard, seat: 0, epoch: 7).first
    }
}
