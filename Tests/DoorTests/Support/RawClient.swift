import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TestSupport

/// A client that sends exactly the bytes it is told, and reads what comes.
final class RawClient: Sendable {
    private let channel: any Channel
    private let input: Input

    private final class Input: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let text = Mutex("")
        let hasEnded = Mutex(false)

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Self.unwrapInboundIn(data)
            text.withLock { $0 += String(buffer: bytes) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case ChannelEvent.inputClosed = event { hasEnded.withLock { $0 = true } }
        }

        func channelInactive(context: ChannelHandlerContext) { hasEnded.withLock { $0 = true } }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { hasEnded.withLock { $0 = true } }
    }

    private init(_ channel: any Channel, _ input: Input) {
        self.channel = channel
        self.input = input
    }

    /// - Parameter readsResponses: false for a client that takes nothing.
    /// - Parameter tls: nil for plain HTTP.
    static func connect(port: Int, readsResponses: Bool = true, tls: NIOSSLContext? = nil) async throws -> RawClient {
        let input = Input()
        let bootstrap = bootstrap(input, readsResponses, tls)
        return RawClient(try await bootstrap.connect(host: "127.0.0.1", port: port).get(), input)
    }

    static func connect(socketPath: String) async throws -> RawClient {
        let input = Input()
        return RawClient(try await bootstrap(input, true, nil).connect(unixDomainSocketPath: socketPath).get(), input)
    }

    private static func bootstrap(
        _ input: Input, _ readsResponses: Bool, _ tls: NIOSSLContext?
    ) -> ClientBootstrap {
        ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            // With it, NIOSSL waits 5 s for a farewell that has come.
            .channelOption(.allowRemoteHalfClosure, value: tls == nil)
            .channelOption(.autoRead, value: readsResponses)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
                    }
                    try pipeline.addHandler(input)
                }
            }
    }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Sends until the server stops taking bytes.
    /// - Returns: how many it took.
    func sendForever(_ text: String) async -> Int {
        let buffer = ByteBuffer(string: text)
        var sent = 0
        while (try? await channel.writeAndFlush(buffer)) != nil { sent += buffer.readableBytes }
        return sent
    }

    /// Ends the output, and still reads.
    func finish() async throws { try await channel.close(mode: .output) }
    func close() async { try? await channel.close() }

    /// Ends the connection by a reset.
    func reset() async throws {
        if let socket = channel as? any SocketOptionProvider {
            try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await channel.close()
    }

    /// Waits for the next response, also an interim one.
    func response(isHead: Bool = false) async throws -> RawResponse {
        try await awaited("a response after \(text.debugDescription)") {
            input.text.withLock { RawResponse.take(from: &$0, isHead: isHead) }
        }
    }

    /// Sends a request and waits for its response.
    func exchange(_ request: String, isHead: Bool = false) async throws -> RawResponse {
        try await send(request)
        return try await response(isHead: isHead)
    }

    /// Waits for the end of the server's output.
    func ended() async throws { try await until("the end of the connection") { input.hasEnded.withLock { $0 } } }

    /// The bytes that no response has taken.
    var text: String { input.text.withLock { $0 } }
}
