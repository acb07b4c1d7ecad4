package import NIOCore
package import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// An HTTP/1.1 connection. It carries one exchange at a time, and the pool keeps it for the next one where
/// the peer permits that.
///
/// * The head leaves together with the first bytes of the body, in one system call and one packet.
/// * Progress is measured by the peer's acknowledgements, 4 times a second, so that a slow peer is not taken
///   for dead.
/// * In the middle of a request the connection is closed by a reset, so that bytes which the kernel still
///   holds never reach the peer.
/// * A kept connection whose peer acknowledges nothing is replaced: the network may have changed, and then a
///   new connection works.
///
/// Confined to its event loop: the pipeline, the pool and the exchange call it there.
package final class HTTPConnection: ChannelInboundHandler {
    package typealias InboundIn = HTTPClientResponsePart
    package typealias OutboundOut = HTTPClientRequestPart

    let origin: HTTPOrigin
    let configuration: HTTPClientConfiguration
    /// The proxy that receives the requests; nil for a direct connection and inside a tunnel.
    let proxy: HTTPProxy?
    let pool: ConnectionPool
    var context: ChannelHandlerContext?
    /// The address of the peer. It stays known after the connection has ended.
    var peer: SocketAddress?
    var exchange: (any HTTPExchange)?
    private(set) var request: HTTPRequest?
    var state = ExchangeState()

    var isClosing = false
    /// A read is under way. It may hold more than the response, so the connection is released at its end.
    var isInRead = false
    var awaitsRelease = false

    /// The number of exchanges so far.
    private(set) var uses = 0
    private(set) var idleSince = NIODeadline.now()
    /// How long the peer keeps the connection, by `Keep-Alive: timeout`, less a margin; nil where it does not
    /// say.
    var keepAliveHint: TimeAmount?
    var expiry: Scheduled<Void>?

    // Timeouts and measures, see the extensions.
    var isTicking = false
    var lastProgress = NIODeadline.now()
    var last = TCPInfo()
    /// The same when the request began.
    var atStart = TCPInfo()
    let limiter: ResponseHeadLimiter
    private let receivedBytes: ReceivedBytes
    var keepsQueueShort = false
    var isRateLimited = false
    var window = ScavengerWindow()
    var receiveWindow = ScavengerWindow(target: ScavengerWindow.downloadTarget)

    /// Bytes that the kernel takes ahead of what it has sent.
    static let unsentLimit: CInt = 256 << 10
    /// How long a body waits for `100 Continue` (RFC 9110, section 10.1.1; curl's default).
    private static let continueTimeout: TimeAmount = .seconds(1)

    init(
        origin: HTTPOrigin, proxy: HTTPProxy?, pool: ConnectionPool, configuration: HTTPClientConfiguration,
        limiter: ResponseHeadLimiter, receivedBytes: ReceivedBytes
    ) {
        self.origin = origin
        self.proxy = proxy
        self.pool = pool
        self.configuration = configuration
        self.limiter = limiter
        self.receivedBytes = receivedBytes
    }

    var isActive: Bool { context?.channel.isActive ?? false }

    /// Whether nothing has arrived that the next request would take for its response: bytes behind the last
    /// response, or the end of the connection.
    var isClean: Bool {
        readInfo()
        return last.received <= receivedBytes.count
    }

    var options: TCPOptions? { context.flatMap { TCPOptions($0.channel) } }

    /// Whether the connection had carried another exchange before this one.
    package var isKept: Bool { state.isKept }

    // MARK: Exchange

    /// Begins an exchange on an idle connection.
    func begin(_ request: HTTPRequest, _ exchange: any HTTPExchange) {
        guard let context else { return exchange.ended(HTTPExchangeEnd(.closed)) }
        state = ExchangeState(isKept: uses > 0)
        state.awaitsContinue = request.options.expectsContinue && request.bodyLength > 0
        uses += 1
        keepAliveHint = nil
        self.request = request
        self.exchange = exchange
        limiter.scanner.expectResponse()
        setWaterMark(Self.headWaterMark, context)
        // The kernel's counters go on from the exchanges before this one.
        readInfo()
        atStart = last
        noteProgress()
        scheduleTick(context)
        context.write(wrapOutboundOut(.head(request.head(for: proxy))), promise: nil)
        // The head waits for the first bytes of the body, unless it is larger than the water mark.
        if !context.channel.isWritable { context.flush() }
        setWaterMark(for: exchange, context)
        exchange.began(on: self)
        if request.bodyLength == 0 {
            endBody()
        } else if state.awaitsContinue {
            context.flush()
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.continueTimeout) { [weak self] in
                self?.beginBody(of: exchange)
            }
        } else {
            exchange.writeBody()
        }
    }

    func beginBody(of exchange: any HTTPExchange) {
        guard state.awaitsContinue, self.exchange === exchange else { return }
        state.awaitsContinue = false
        exchange.writeBody()
    }

    /// Whether the connection takes more of the body now. Bytes that are written anyway wait in memory.
    package var isWritable: Bool {
        !state.awaitsContinue && exchange != nil && (context?.channel.isWritable ?? false)
    }

    /// Writes a part of the body.
    package func write(_ bytes: ByteBuffer) {
        guard let context, !state.requestEnded else { return }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
    }

    /// The body is complete.
    package func endBody() {
        guard let context, !state.requestEnded else { return }
        state.requestEnded = true
        let written = context.eventLoop.makePromise(of: Void.self)
        let use = uses
        written.futureResult.assumeIsolated().whenSuccess { [self] in
            if uses == use { state.isHandedOver = true }
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        if state.responseEnded { complete() }
    }

    /// Ends the exchange and resets the connection.
    package func stop(_ error: HTTPError = .stopped) { fail(error) }

    /// Reads on after ``ReadDecision/pause``.
    package func resumeReading() {
        guard state.isReadingPaused, let context else { return }
        state.isReadingPaused = false
        noteProgress()
        try? context.channel.syncOptions?.setOption(.autoRead, value: true)
    }

    /// Closes the connection between two exchanges.
    func closeIdle() {
        guard exchange == nil, let context else { return }
        isClosing = true
        context.close(promise: nil)
    }

    func complete() {
        guard let exchange, let context else { return }
        let mayBeKept =
            state.peerKeepsAlive && state.requestEnded && state.responseEnded && !isClosing
            // A smaller buffer cannot be undone, so no other request gets this connection.
            && window.bytes == nil && receiveWindow.bytes == nil
        // The end of the response may have come in the read after which the exchange paused.
        if mayBeKept { resumeReading() }
        self.exchange = nil
        request = nil
        if mayBeKept {
            idleSince = .now()
            if isInRead { awaitsRelease = true } else { pool.release(self) }
        } else {
            isClosing = true
            if state.requestEnded { context.close(promise: nil) } else { reset(context) }
        }
        exchange.ended(HTTPExchangeEnd())
    }

    func fail(_ error: HTTPError) {
        guard let exchange else { return }
        let keptConnectionEnded = isKept && !state.responseBegan && error.isOfConnection
        self.exchange = nil
        // The last measurement is up to 250 ms old, and the bytes since then may be most of the request.
        readInfo()
        exchange.measured(last, since: atStart)
        request = nil
        if keptConnectionEnded, !isClosing { pool.closeIdle(to: peer) }
        isClosing = true
        if let context { reset(context) }
        exchange.ended(HTTPExchangeEnd(error, keptConnectionEnded: keptConnectionEnded))
    }

    private func reset(_ context: ChannelHandlerContext) {
        options?.closeWithReset()
        // TLS would write its close_notify behind all queued bytes and wait for the peer's. A reset waits for nothing.
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        (tls ?? context).close(promise: nil)
    }
}

extension HTTPConnection {
    /// Adds HTTP to the pipeline of an open channel. Runs on the channel's event loop.
    static func install(
        in channel: any Channel, origin: HTTPOrigin, proxy: HTTPProxy?, pool: ConnectionPool,
        configuration: HTTPClientConfiguration
    ) throws -> HTTPConnection {
        var limits = NIOHTTPDecoderLimitConfiguration()
        // The limiter bounds the whole head, so the parser's limits for single fields only have to be larger.
        limits.maxHeaderFieldSize = 2 * ResponseHeadScanner.maxHead
        limits.maxHeaderFieldCount = ResponseHeadScanner.maxHead
        let limiter = ResponseHeadLimiter()
        let pipeline = channel.pipeline.syncOperations
        let connection = HTTPConnection(
            origin: origin, proxy: proxy, pool: pool, configuration: configuration, limiter: limiter,
            receivedBytes: try pipeline.handler(type: ReceivedBytes.self))
        try pipeline.addHandler(limiter)
        try pipeline.addHandler(HTTPRequestEncoder())
        try pipeline.addHandler(
            ByteToMessageHandler(
                HTTPResponseDecoder(
                    leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward,
                    limitConfiguration: limits)))
        try pipeline.addHandler(connection)
        // The kernel takes at most this much ahead of what it has sent. So accepted bytes are on the wire soon, the
        // measured bandwidth is real, and a cancellation takes effect at once.
        let options = TCPOptions(channel)
        options?.limitUnsent(to: unsentLimit)
        options?.keepAlive(idle: 15, interval: 5, count: 4)
        return connection
    }
}

/// How far one exchange on a connection has come, from its request to the end of its response. Pure.
struct ExchangeState {
    /// The connection had carried another exchange before this one.
    var isKept = false
    /// The body has been handed to the channel to its end.
    var requestEnded = false
    /// The kernel has taken the whole request.
    var isHandedOver = false
    /// The body waits for `100 Continue`.
    var awaitsContinue = false
    var responseBegan = false
    var responseEnded = false
    /// The status of the final response; nil before its head is complete.
    var finalStatus: Int?
    var finalHeadAt = NIODeadline.now()
    /// The peer keeps the connection open after its response.
    var peerKeepsAlive = false
    var isReadingPaused = false
    /// When the peer had acknowledged the whole request.
    var receivedAt: NIODeadline?
    /// When an unfinished response head was first seen.
    var headSeenAt: NIODeadline?
}

/// Counts the bytes that were read from a connection, with those of TLS. If the kernel has received more,
/// unrequested bytes or the peer's FIN are waiting.
final class ReceivedBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private(set) var count: Int64 = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += Int64(unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }
}
