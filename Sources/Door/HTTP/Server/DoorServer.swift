package import HTTPTypes
package import Logging
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

/// The HTTP server of the door.
package struct DoorServer: Service {
    /// The connections that a shutdown had to wait for did not end in time.
    private struct ShutdownExpired: Error {}

    private let configuration: DoorServerConfiguration
    private let dispatcher: Dispatcher
    private let logger: Logger
    private let listening = FirstValue<Int>()
    private let observe: @Sendable (CompletedRequest) -> Void
    package let statistics: DoorStatistics

    /// - Parameters:
    ///   - observe: called after each response, on the task of the connection: it must not block.
    ///   - stillPermits: as in ``Dispatcher``.
    ///   - authenticate: called for endpoints that need a token.
    package init(
        _ configuration: DoorServerConfiguration, endpoints: [Endpoint], logger: Logger,
        statistics: DoorStatistics = DoorStatistics(),
        observe: @escaping @Sendable (CompletedRequest) -> Void = { _ in },
        stillPermits: @escaping @Sendable (Principal, Set<Scope>, HTTPFields) async -> Bool = { _, _, _ in true },
        authenticate: @escaping Dispatcher.Authenticate
    ) {
        self.configuration = configuration
        self.logger = logger
        self.statistics = statistics
        self.observe = observe
        dispatcher = Dispatcher(
            endpoints, basePath: configuration.basePath, allowedOrigins: configuration.allowedOrigins, logger: logger,
            statistics: statistics, stillPermits: stillPermits, authenticate: authenticate)
    }

    /// Waits until the server listens.
    /// - Returns: the port of its listener.
    /// - Throws: the error with which ``run()`` ended instead.
    package func port() async throws -> Int { try await listening.value }

    /// Serves until the graceful shutdown of its service group, and then for at most
    /// ``DoorServerConfiguration/shutdownGrace``.
    /// - Throws: ``DoorServerError`` where a certificate or the limit of open files does not serve; the error of the socket
    ///   where it cannot listen.
    package func run() async throws {
        do {
            let limit = try DescriptorBudget.maxConnections(
                limit: DescriptorBudget.raiseLimit(), cores: System.coreCount, configured: configuration.maxConnections)
            if let wanted = configuration.maxConnections, wanted > limit {
                logger.warning(
                    "The limit of open files allows \(limit) connections, not \(wanted); raise it (ulimit -n)")
            }
            try await serve(maxConnections: limit)
            listening.set(.failure(CancellationError()))
        } catch {
            listening.set(.failure(error))
            throw error
        }
    }

    private func serve(maxConnections: Int) async throws {
        let running = RunningRequests()
        let door = DoorChannel(
            configuration, dispatcher: dispatcher, maxConnections: maxConnections,
            running: running, statistics: statistics, logger: logger, observe: observe)
        let address =
            configuration.inheritedSocket.map { Listener.Address.socket($0) }
            ?? .host(configuration.host, port: configuration.port)
        var listeners = [
            Listener(address: address, door: door, logger: logger) { [listening] channel in
                listening.set(.success(channel.localAddress?.port ?? 0))
            }
        ]
        if let path = configuration.socketPath {
            listeners.append(Listener(address: .path(path), door: door, logger: logger) { _ in })
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [listeners] in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for listener in listeners { group.addTask { try await listener.run() } }
                    try await group.waitForAll()
                }
            }
            group.addTask { [logger, configuration, statistics] in
                try await gracefulShutdown()
                statistics.isDraining.store(true, ordering: .relaxed)
                logger.debug("The server accepts no more connections, and ends its requests")
                running.beginDraining()
                try await Task.sleep(for: configuration.shutdownGrace)
                running.cancelAll()
                // The cancelled requests still send their responses.
                try await Task.sleep(for: configuration.drainTimeout)
                throw ShutdownExpired()
            }
            defer { group.cancelAll() }
            do {
                try await group.next()
            } catch is ShutdownExpired {
                logger.warning("The server closed connections whose requests did not end at its shutdown")
            }
        }
    }
}
