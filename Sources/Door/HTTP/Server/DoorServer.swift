internal import CLinux
internal import Glibc
package import HTTPTypes
package import Logging
internal import NIOCore
internal import NIOExtras
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization

/// The HTTP server of the door.
package struct DoorServer: Service {
    /// The connections that a shutdown had to wait for did not end in time.
    private struct ShutdownExpired: Error {}

    private let configuration: DoorServerConfiguration
    private let dispatcher: RequestDispatcher
    private let logger: Logger
    private let listening = FirstValue<Int>()
    private let observe: @Sendable (CompletedRequest) -> Void
    package let statistics: DoorStatistics

    /// - Parameters:
    ///   - observe: called after each response, on the task of the connection: it must not block.
    ///   - stillPermits: as in ``RequestDispatcher``.
    ///   - authenticate: called for endpoints that need a token.
    package init(
        _ configuration: DoorServerConfiguration, endpoints: [Endpoint], logger: Logger,
        statistics: DoorStatistics = DoorStatistics(),
        observe: @escaping @Sendable (CompletedRequest) -> Void = { _ in },
        stillPermits: @escaping @Sendable (Principal, Set<Scope>, HTTPFields) async -> Bool = { _, _, _ in true },
        authenticate: @escaping RequestDispatcher.Authenticate
    ) {
        self.configuration = configuration
        self.logger = logger
        self.statistics = statistics
        self.observe = observe
        dispatcher = RequestDispatcher(
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

/// Why the server could not start.
package struct DoorServerError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// How many connections the limit of open files allows.
package enum DescriptorBudget {
    private static let minConnections = 16
    /// Files, sockets and pipes that are not connections: about 100 of the store, 64 connections that are refused, and
    /// three for each event loop. libdispatch ends the process where it cannot open `/proc/self/task/…`, so connections
    /// must never use the last descriptors.
    /// - Parameter cores: each has an event loop.
    package static func reserve(cores: Int) -> Int { max(256, 192 + 4 * cores) }
    /// A connection has its socket, and while it brings an upload the file of that.
    package static let perConnection = 2
    /// More connections than this need more memory than their buffers are granted.
    private static let maxDescriptors: UInt = 65_536

    /// The connections that the door serves at the same time, at least 16.
    /// - Parameters:
    ///   - limit: files that the process may open.
    ///   - cores: of the machine.
    ///   - configured: the number that the operator wants; nil: as many as the limit allows.
    /// - Throws: ``DoorServerError`` where the limit is too low for 16.
    package static func maxConnections(
        limit: Int, cores: Int, configured: Int?
    ) throws(DoorServerError) -> Int {
        let reserve = reserve(cores: cores)
        let available = (limit - reserve) / perConnection
        guard available >= minConnections else {
            throw DoorServerError(
                "this process may open \(limit) files, and the door needs \(reserve + perConnection * minConnections); "
                    + "raise the limit (ulimit -n)")
        }
        return min(configured ?? available, available)
    }

    /// Raises the soft limit of open files, and returns it.
    static func raiseLimit() -> Int {
        _ = clinux_raise_descriptor_limit(maxDescriptors)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }
}

/// Accepts the connections of one address, also of a socket that another process has opened, until a graceful shutdown.
struct Listener: Service {
    enum Address: Sendable {
        case host(String, port: Int)
        /// A unix socket; an old one at the path is replaced.
        case path(String)
        /// A descriptor of a socket that listens.
        case socket(CInt)
    }

    let address: Address
    let door: DoorChannel
    /// Connections that wait to be accepted.
    var backlog: CInt = 1024
    let logger: Logger
    /// Called with the channel that listens.
    let whenListening: @Sendable (any Channel) -> Void

    func run() async throws {
        let quiescing = ServerQuiescingHelper(group: MultiThreadedEventLoopGroup.singleton)
        let server = try await bind(quiescing)
        whenListening(server.channel)
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                do {
                    try await server.executeThenClose { connections in
                        for try await connection in connections {
                            group.addTask { await door.handle(connection) }
                        }
                    }
                } catch {
                    logger.error("The door accepts no more connections: \(error)")
                }
            }
        } onGracefulShutdown: {
            quiescing.initiateShutdown(promise: nil)
        }
    }

    private func bind(
        _ quiescing: ServerQuiescingHelper
    ) async throws -> NIOAsyncChannel<DoorChannel.Value, Never> {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        quiescing.makeServerChannelHandler(channel: channel))
                }
            }
        switch address {
        case .host(let host, let port):
            return try await bootstrap.bind(host: host, port: port) { door.setup($0, isEncrypted: true) }
        case .path(let path):
            // Its permissions protect it.
            return try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true) {
                door.setup($0, isEncrypted: false)
            }
        case .socket(let descriptor):
            return try await bootstrap.bind(descriptor) { door.setup($0, isEncrypted: true) }
        }
    }
}

/// A value that is set once, and awaited by any number of tasks.
final class FirstValue<Value: Sendable>: Sendable {
    private enum State {
        case waiting([CheckedContinuation<Value, any Error>])
        case set(Result<Value, any Error>)
    }

    private let state = Mutex(State.waiting([]))

    /// Later values count for nothing.
    func set(_ result: Result<Value, any Error>) {
        let waiting = state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            guard case .waiting(let continuations) = state else { return [] }
            state = .set(result)
            return continuations
        }
        for continuation in waiting { continuation.resume(with: result) }
    }

    var value: Value {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    guard case .waiting(var continuations) = state else {
                        if case .set(let result) = state { return result }
                        return nil
                    }
                    continuations.append(continuation)
                    state = .waiting(continuations)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        }
    }
}
