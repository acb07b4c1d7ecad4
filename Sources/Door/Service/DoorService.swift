internal import Commands
internal import Glibc
internal import Host
package import Logging
internal import Membership
internal import NIOCore
package import Operations
package import Queue
internal import ServiceLifecycle
internal import Store
internal import UploadSpool
package import Uploads

/// The door of a data directory: takes uploads, and answers requests over HTTP, until it is shut down.
package struct DoorService: Service {
    /// The state of a door that listens.
    package struct Listening: Sendable {
        /// The URL of the door, without a slash at its end.
        package var url: String
        /// The file with the token of this machine.
        package var tokenFile: String
        /// Opens a session with the token of this machine: once, within 10 minutes. It does not belong in a log.
        package var loginURL: String
        /// Uploads that go on, which earlier processes have left.
        package var openUploads: Int
    }

    private let client: SluiceClient
    private let configuration: DoorConfiguration
    private let address: ListenAddress
    private let certificate: CertificateSource?
    private let inheritedSocket: CInt?
    private let routes: UploadRoutes
    private let registry: @Sendable (String) throws -> OperationRegistry
    private let admission: (any UploadAdmission)?
    private let parts: [any DoorPart]
    private let endsMissingUploads: Bool
    private let logger: Logger
    private let whenListening: @Sendable (Listening) -> Void

    /// - Parameters:
    ///   - address: port 0 takes any free port.
    ///   - certificate: as in ``DoorServerConfiguration``.
    ///   - inheritedSocket: as in ``DoorServerConfiguration``; `address` is its address.
    ///   - registry: the operations that check the payloads of a type.
    ///   - admission: asks the site before an upload is created; nil: none is asked.
    ///   - parts: all but uploads.
    ///   - endsMissingUploads: ends open uploads whose files are not in the spool.
    package init(
        _ client: SluiceClient, _ configuration: DoorConfiguration, address: ListenAddress,
        certificate: CertificateSource? = nil, inheritedSocket: CInt? = nil, routes: UploadRoutes,
        registry: @escaping @Sendable (String) throws -> OperationRegistry,
        admission: (any UploadAdmission)? = nil, parts: [any DoorPart] = [],
        endsMissingUploads: Bool = false, logger: Logger,
        whenListening: @escaping @Sendable (Listening) -> Void = { _ in }
    ) {
        self.client = client
        self.configuration = configuration
        self.address = address
        self.certificate = certificate
        self.inheritedSocket = inheritedSocket
        self.routes = routes
        self.registry = registry
        self.admission = admission
        self.parts = parts
        self.endsMissingUploads = endsMissingUploads
        self.logger = logger
        self.whenListening = whenListening
    }

    /// - Throws: ``StoreError`` `busy` where another door has the data directory, or where its spool is not there; and the
    ///   errors of the listener.
    package func run() async throws {
        let role = try client.opened.presence.takeDoor()
        defer { withExtendedLifetime(role) {} }
        // The address of an earlier door must not be taken for that of this one.
        try await client.write { queue in try queue.setDoorURL(nil) }
        let engine = UploadEngine(
            store: client.store, spool: SpoolDirectory(path: client.directory.resolved.uploads),
            limits: configuration.limits,
            rules: RouteRules(routes, registry: registry), admission: admission, logger: logger,
            hint: { [client] in client.hint(ready: $0) })
        let recovery: UploadEngine.Recovery
        do throws(UploadError) { recovery = try await engine.recover(endsMissing: endsMissingUploads) } catch {
            throw error.code == .unavailable ? StoreError(.busy, error.cause ?? error.message) : error as any Error
        }
        if recovery.open > 0 {
            logger.info(
                "Uploads of earlier processes go on",
                metadata: [
                    "open": "\(recovery.open)", "truncated": "\(recovery.truncated)", "lost": "\(recovery.lost.count)",
                    "missing": "\(recovery.missing.count)",
                ])
        }
        for sentence in MissingRoutes.sentences(recovery.routes, in: routes) { logger.warning("\(sentence)") }
        let token = try await BlockingPool.shared.run { [client] () throws(StoreError) in
            try MachineToken.load(in: client.directory, TokenStore(client.store), now: client.now)
        }
        logger.debug("The token of this machine is \(token.id)")
        let tokens = TokenCache(TokenStore(client.store), logger: logger)
        defer { tokens.close() }
        let isSecure = configuration.url(at: address).hasPrefix("https:")
        let (suffix, earlier, isClockHeld) = try await BlockingPool.shared.run { [client] () throws(StoreError) in
            (
                try StoredSessions.cookieSuffix(client.store), try StoredSessions.read(client.store),
                client.store.isClockHeld
            )
        }
        let storedSessions = StoredSessions(client.store, logger: logger)
        defer { storedSessions.close() }
        let codes = StoredLoginCodes(client.store)
        let authenticator = Authenticator(
            tokens: tokens,
            cookie: SessionCookie(basePath: configuration.basePath, isSecure: isSecure, suffix: suffix),
            logger: logger, codes: codes,
            sessions: SessionTable(earlier, now: client.now, isClockHeld: isClockHeld), storedSessions: storedSessions,
            clock: { [store = client.store] in store.clock.now() },
            isClockHeld: { [store = client.store] in store.isClockHeld })
        var server = DoorServerConfiguration()
        (server.host, server.port) = (address.host, address.port)
        server.basePath = configuration.basePath
        server.publicBaseURL = configuration.publicURL
        server.allowedHosts = configuration.hosts
        server.allowedOrigins = configuration.publicOrigin.map { [$0] } ?? []
        server.trustedProxies = configuration.trustedProxies
        server.certificate = certificate
        server.inheritedSocket = inheritedSocket
        if certificate == nil, !address.isLoopback, configuration.trustedProxies.isEmpty {
            logger.warning(
                "The network can read tokens and files: set door.certificate and door.key, or listen on 127.0.0.1 behind a proxy with TLS",
                metadata: ["address": "\(address)"])
        }
        let context = DoorContext(
            client: client, uploads: engine, routes: routes, registry: registry, authenticator: authenticator,
            configuration: configuration, statistics: DoorStatistics(), certificate: certificate, logger: logger)
        var endpoints = endpoints(engine)
        for part in parts { endpoints += try await part.endpoints(context) }
        let observe: @Sendable (CompletedRequest) -> Void = { [parts] request in
            for part in parts { part.observe(request) }
        }
        let door = DoorServer(
            server, endpoints: endpoints, logger: logger, statistics: context.statistics, observe: observe,
            stillPermits: { await authenticator.stillPermits($0, $1, fields: $2) },
            authenticate: { request throws(Problem) in
                try await authenticator.authenticate(request.fields, client: request.client)
            })
        do {
            try await withGracefulShutdownHandler {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await door.run() }
                    group.addTask {
                        let port = try await door.port()
                        let url = configuration.url(at: ListenAddress(host: address.host, port: port))
                        let code = try await client.write { queue in
                            try queue.setDoorURL(url)
                            return try codes.make(for: token.id, now: queue.now)
                        }
                        whenListening(
                            Listening(
                                url: url, tokenFile: client.directory.doorToken,
                                loginURL: LoginLink.url(url, code: code),
                                openUploads: recovery.open))
                        try await Self.tidy(engine)
                    }
                    group.addTask { [client] in try await Self.report(engine, to: client.directory.run) }
                    group.addTask { try await Self.renew(role) }
                    for part in parts {
                        group.addTask {
                            try await part.run(context)
                            // A part without work in the background does not end the door.
                            try await Task.sleep(for: .seconds(Int64.max / 1_000_000_000))
                        }
                    }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            } onGracefulShutdown: { [parts] in
                for part in parts { part.shutDown() }
            }
        } catch is CancellationError {
            return
        } catch {
            throw StoreError(listening: error, at: address)
        }
    }

    private func endpoints(_ engine: UploadEngine) -> [Endpoint] {
        var options = UploadsOptions()
        options.sendsInterimResponses = configuration.sendsInterimResponses
        options.find = { try await engine.peek($0) }
        options.digest = { await engine.digest(of: $0, $1) }
        return UploadsResource(engine, routes: Set(routes.names), options: options).endpoints
    }

    /// Ends what has expired; looks once a second whether something may have.
    private static func tidy(_ engine: UploadEngine) async throws {
        while true {
            let count = engine.isTidyDue ? await engine.tidy() : 0
            if count == 0 { try await Task.sleep(for: .seconds(1)) }
        }
    }

    /// Tells other processes how full the spool is.
    private static func report(_ engine: UploadEngine, to run: RunDirectory) async throws {
        while true {
            await engine.reportFigures(to: run)
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Shows other processes that the door makes progress.
    private static func renew(_ role: any HeldRole) async throws {
        while true {
            _ = try role.renew()
            try await Task.sleep(for: .milliseconds(500))
        }
    }
}

extension StoreError {
    /// Why the door cannot listen at an address.
    init(listening error: any Error, at address: ListenAddress) {
        let attempt = "cannot listen at \(address): "
        if error is SocketAddressError.UnknownHost {
            self.init(.invalid, "\(attempt)the name of the host is not known; use an address of this machine")
            return
        }
        if let error = error as? DoorServerError {
            self.init(.exhausted, error.description)
            return
        }
        guard let error = error as? IOError else {
            self.init(.invalid, "\(attempt)\(error); choose an address of this machine")
            return
        }
        switch error.errnoCode {
        case EADDRINUSE:
            self.init(.busy, "\(attempt)another program listens there; end it, or choose another port with --listen")
        case EACCES:
            self.init(.permission, "\(attempt)ports below 1024 need root or CAP_NET_BIND_SERVICE; choose another port")
        case EADDRNOTAVAIL:
            self.init(.invalid, "\(attempt)this machine does not have the address; choose one that it has")
        default: self.init(.failed, attempt + SystemError(error.errnoCode).words)
        }
    }
}
