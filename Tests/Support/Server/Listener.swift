internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// The listening socket of a ``ScriptedServer``, which can be closed and opened again.
final class Listener: Sendable {
    private let options: ScriptedServer.Options
    private let state: ServerState
    private let group: MultiThreadedEventLoopGroup
    private let tls: NIOSSLContext?
    private let channel = Mutex<(any Channel)?>(nil)

    init(_ options: ScriptedServer.Options, state: ServerState, group: MultiThreadedEventLoopGroup) throws {
        self.options = options
        self.state = state
        self.group = group
        tls = try options.identity?.serverContext(clientRoots: options.clientRoots, versions: options.versions)
    }

    /// - Parameter port: 0 for any free port.
    /// - Returns: the port.
    func open(port: Int) async throws -> Int {
        let (options, state, tls) = (options, state, tls)
        let origin = options.identity == nil ? "http" : "https"
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    let pace = PacedReads(state: state)
                    try pipeline.addHandler(pace)
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    let connection = ServerConnection(state: state, pace: pace, scheme: origin)
                    connection.keepsHeaders = options.keepsHeaders
                    try pipeline.addHandler(connection)
                }
            }
        if let size = options.receiveBuffer {
            // A packet of loopback is as large as such a buffer, so that the kernel drops some for lack of memory, and
            // their repetition takes seconds. These are those of Ethernet.
            let segment = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_MAXSEG))
            bootstrap = bootstrap.serverChannelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(size))
                .serverChannelOption(segment, value: 1460)
        }
        let channel = try await bootstrap.bind(host: options.host, port: port).get()
        self.channel.withLock { $0 = channel }
        return channel.localAddress?.port ?? 0
    }

    func close() async throws {
        let open = channel.withLock { channel in
            defer { channel = nil }
            return channel
        }
        try await open?.close()
    }
}
