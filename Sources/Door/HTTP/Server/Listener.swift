internal import Logging
internal import NIOCore
internal import NIOExtras
internal import NIOPosix
internal import ServiceLifecycle

/// Accepts the connections of one address, until a graceful shutdown. The server of Hummingbird does the same, but cannot
/// take a socket that another process has opened.
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
