import BuiltIn
import Commands
import Door
import DoorLive
import HTTPTypes
import Host
import Logging
import Membership
import NIOCore
import Queue
import Store
import Synchronization
import TestSupport
import UploadSpool
import Uploads

@testable import Door
@testable import DoorPages

/// The pages of a store of its own, behind a dispatcher without sockets.
final class PagesRig: Sendable {
    let store: any CommandStore
    let client: SluiceClient
    let token: AccessToken
    let endpoints: [Endpoint]
    private let authenticator: Authenticator
    private let dispatcher: RequestDispatcher
    private let basePath: String
    /// The cookie of the session, as a browser keeps it.
    let cookie = Mutex<String?>(nil)

    private init(
        _ store: any CommandStore, _ client: SluiceClient, _ token: AccessToken, _ authenticator: Authenticator,
        _ endpoints: [Endpoint], _ basePath: String, _ logger: Logger
    ) {
        self.store = store
        self.client = client
        self.token = token
        self.authenticator = authenticator
        self.endpoints = endpoints
        self.basePath = basePath
        dispatcher = RequestDispatcher(endpoints, basePath: basePath, allowedOrigins: [], logger: logger) {
            request throws(Problem) in
            try await authenticator.authenticate(request.fields, client: request.client)
        }
    }

    /// - Parameter scopes: of the token of the session.
    static func with(
        scopes: Set<Scope> = Set(Scope.allCases), basePath: String = "", routes: UploadRoutes = UploadRoutes(),
        _ body: (PagesRig) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory("pages")
        defer { directory.remove() }
        let data = DataDirectory(path: "\(directory.path)/data")
        let store = try SQLiteStore(directory: data, shardCount: 4, clock: SettableClock())
        let opened = OpenedStore(store, maintenance: store, in: data)
        let registry = BuiltInOperations.registry()
        let client = try SluiceClient(opened, registry: registry)
        var logger = Logger(label: "pages")
        logger.logLevel = .critical
        let engine = UploadEngine(
            store: store, spool: SpoolDirectory(path: data.resolved.uploads), logger: logger, hint: { _ in })
        _ = try await engine.recover()
        let token = AccessToken()
        try TokenStore(store).add(TokenRecord(token, name: "ops", scopes: scopes, created: .now), now: .now)
        let tokens = TokenCache(TokenStore(store), logger: logger)
        let authenticator = Authenticator(
            tokens: tokens, cookie: SessionCookie(basePath: basePath, isSecure: false), logger: logger,
            codes: StoredLoginCodes(store), sleep: { _ in })
        var configuration = DoorConfiguration()
        configuration.basePath = basePath
        let context = DoorContext(
            client: client, uploads: engine, routes: routes, registry: { _ in registry },
            authenticator: authenticator, configuration: configuration, statistics: DoorStatistics(), logger: logger)
        let endpoints = try await PagesPart(LivePart(), actions: ActionRuns(client)).endpoints(context)
        let rig = PagesRig(store, client, token, authenticator, endpoints, basePath, logger)
        try await body(rig)
        await client.close()
        tokens.close()
    }

    /// A login link's code.
    func code() throws -> String { try StoredLoginCodes(store).make(for: token.id, now: .now) }

    /// Begins the session of a browser.
    @discardableResult
    func logIn() async throws -> PageAnswer {
        let answer = try await post("/login", ["token": token.text])
        cookie.withLock { $0 = answer[.setCookie].map { String($0.prefix { $0 != ";" }) } }
        return answer
    }

    func get(_ target: String, accept: String? = nil) async throws -> PageAnswer {
        var fields: HTTPFields = [:]
        fields[.accept] = accept
        return try await send(.get, target, fields, body: "")
    }

    /// Sends a form as the page of this door does.
    func post(
        _ target: String, _ form: KeyValuePairs<String, String>, site: String? = "same-origin"
    ) async throws -> PageAnswer {
        var fields: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        fields[.secFetchSite] = site
        let body = form.map { "\(Self.escape($0.key))=\(Self.escape($0.value))" }.joined(separator: "&")
        return try await send(.post, target, fields, body: body)
    }

    private func send(
        _ method: HTTPRequest.Method, _ target: String, _ fields: HTTPFields, body: String
    ) async throws -> PageAnswer {
        let target = try RequestTarget(target, host: "localhost")
        var fields = fields
        if let cookie = cookie.withLock(\.self) { fields[.cookie] = cookie }
        let request = DoorRequest(
            method: method, path: target.path, query: target.query, fields: fields,
            body: RequestBody(buffer: ByteBuffer(string: body)), id: "request-1", client: "127.0.0.1",
            baseURL: "http://localhost\(basePath)"
        ) { _, _ in }
        return try await PageAnswer(dispatcher.respond(to: request, host: "localhost").response)
    }

    static func escape(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain =
                byte < 128 && (Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber)
            return isPlain ? String(Unicode.Scalar(byte)) : (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
        }.joined()
    }
}
