internal import Crypto
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// An HTTP/1.1 server on a free port of 127.0.0.1 that answers 201, or does what it is told for a path, and remembers what
/// came. It speaks bytes rather than through a library, for a library would not misbehave.
package final class MisbehavingReceiver: Sendable {
    package struct Options: Sendable {
        /// Certificate chain and key in PEM; plain HTTP without.
        package var identity: TestIdentity?
        /// Whether it computes ``ReceivedRequest/sha256``.
        package var hashes = true
        /// SO_RCVBUF of its connections; the system's choice when nil.
        package var receiveBuffer: Int32?
        package var threads = 1

        package var host = "127.0.0.1"
        /// 0: any that is free.
        package var port = 0

        package init() {}
    }

    struct State {
        var requests: [ReceivedRequest] = []
        var connections = 0
        var scripts: [String: [Behaviour]] = [:]
    }

    package let port: Int
    private let scheme: String
    private let group: MultiThreadedEventLoopGroup
    private let server: any Channel
    private let state: StateBox

    package init(_ options: Options = Options()) async throws {
        let state = StateBox()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: options.threads)
        let tls = try options.identity.map { try $0.serverContext() }
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.addHandler(ReceiverConnection(state: state, hashes: options.hashes))
                }
            }
        if let size = options.receiveBuffer {
            bootstrap = bootstrap.serverChannelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(size))
        }
        do {
            server = try await bootstrap.bind(host: options.host, port: options.port).get()
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
        self.state = state
        self.group = group
        port = server.localAddress?.port ?? 0
        scheme = tls == nil ? "http" : "https"
    }

    /// Stops it: connections are cut.
    package func stop() async {
        try? await server.close()
        try? await group.shutdownGracefully()
    }

    /// `http://127.0.0.1:<port>`
    package var origin: String { "\(scheme)://127.0.0.1:\(port)" }

    /// Tells what to do with the requests to a path (without its query), one after the other; the last is repeated.
    package func on(_ path: String, _ behaviours: Behaviour...) { on(path, behaviours) }

    package func on(_ path: String, _ behaviours: [Behaviour]) {
        state.access { $0.scripts[path] = behaviours }
    }

    /// All requests so far, in the order of their heads.
    package var requests: [ReceivedRequest] { state.access { $0.requests } }

    /// The requests to a path.
    package func requests(to path: String) -> [ReceivedRequest] { requests.filter { $0.target == path } }

    /// Connections that were accepted so far.
    package var connections: Int { state.access { $0.connections } }

    /// How often each command arrived whole, by its id: what a checker compares with what was acknowledged.
    package var ledger: [String: Int] {
        requests.reduce(into: [:]) { ledger, request in
            if request.isWhole, let key = request.key { ledger[key, default: 0] += 1 }
        }
    }

    /// Forgets the requests so far.
    package func forget() { state.access { $0.requests = [] } }
}

/// What connections and tests share.
final class StateBox: Sendable {
    private let state = Mutex(MisbehavingReceiver.State())

    func access<Value: Sendable>(_ body: (inout MisbehavingReceiver.State) -> Value) -> Value {
        state.withLock { body(&$0) }
    }
}
