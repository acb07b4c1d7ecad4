import Commands
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix

/// The listener, its connections and all that they share. `@unchecked`: it is touched on its one event loop only.
final class Place: @unchecked Sendable {
    let ledger = Ledger()
    let files = Files()
    private(set) var behaviour = Behaviour()
    /// Requests under way, those that were refused not among them.
    var active = 0
    private let address: String
    private let port: Int
    private let group: MultiThreadedEventLoopGroup
    private var listener: (any Channel)?
    private var connections: [ObjectIdentifier: Connection] = [:]

    private struct Connection {
        var channel: any Channel
        var pace: PacedReads
    }

    init(address: String, port: Int, group: MultiThreadedEventLoopGroup) {
        self.address = address
        self.port = port
        self.group = group
    }

    func open() async throws { try await listen().get() }

    private func listen() -> EventLoopFuture<Void> {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: false)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.welcome(channel) }
            }
            .bind(host: address, port: port)
            .map { self.listener = $0 }
    }

    private func welcome(_ channel: any Channel) throws {
        let pace = PacedReads(place: self)
        try channel.pipeline.syncOperations.addHandler(pace)
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
        try channel.pipeline.syncOperations.addHandler(RequestHandler(place: self))
        let identity = ObjectIdentifier(channel)
        connections[identity] = Connection(channel: channel, pace: pace)
        channel.closeFuture.whenComplete { _ in self.connections[identity] = nil }
    }

    /// - Returns: when it has taken effect.
    func change(_ change: JSONValue, on loop: any EventLoop) throws -> EventLoopFuture<Void> {
        let before = behaviour
        behaviour = try behaviour.changed(by: change)
        for connection in connections.values { connection.pace.goOn() }
        if behaviour.isRefusing, !before.isRefusing, let listener {
            self.listener = nil
            for connection in connections.values { Self.reset(connection.channel) }
            return listener.close()
        }
        if before.isRefusing, !behaviour.isRefusing { return listen() }
        return loop.makeSucceededVoidFuture()
    }

    /// Closes with RST: what was not read is not read.
    static func reset(_ channel: any Channel) {
        if let provider = channel as? any SocketOptionProvider {
            _ = provider.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        channel.close(promise: nil)
    }
}
