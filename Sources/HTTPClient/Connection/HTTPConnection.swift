package import NIOCore
package import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// One HTTP/1.1 connection: carries one exchange at a time, and is kept for the next where the peer permits it.
///
/// * The head leaves together with the first bytes of the body, in one system call and one packet.
/// * Progress is measured by the peer's acknowledgements, 4 times a second, so that slow is not taken for dead.
/// * In mid-request the connection is closed by a reset, so that what the kernel still holds never reaches the peer.
/// * A kept connection that takes in nothing is given up: the network has changed, and a new one may do.
///
/// Confined to its event loop, which NIO asserts at each call on its context.
package final class HTTPConnection: ChannelInboundHandler, @unchecked Sendable {
    // Unchecked: the pipeline, its pool and its exchange call it on its event loop alone.
    package typealias InboundIn = HTTPClientResponsePart
    package typealias OutboundOut = HTTPClientRequestPart

    let origin: HTTPOrigin
    let configuration: HTTPClientConfiguration
    /// The proxy that the connection speaks to, where it does; nil also within a tunnel.
    let proxy: HTTPProxy?
    let pool: ConnectionPool
    var context: ChannelHandlerContext?
    /// Stays after the connection has ended.
    private(set) var peer: SocketAddress?
    var exchange: (any HTTPExchange)?
    private(set) var request: HTTPRequest?

    // The exchange.
    /// It had been used before this exchange.
    package private(set) var isKept = false
    private(set) var requestEnded = false
    /// The kernel has all of the request.
    private(set) var isHandedOver = false
    private(set) var responseBegan = false
    /// Status of the final response's head, once it is there.
    private(set) var finalStatus: Int?
    private(set) var finalHeadAt = NIODeadline.now()
    private var responseEnded = false
    private var peerKeepsAlive = false
    private var isReadingPaused = false
    private var awaitsContinue = false
    private var isClosing = false
    /// Within a read, which may hold more than the response: the connection is released at its end.
    private var isInRead = false
    private var awaitsRelease = false

    // Kept between exchanges.
    /// The number of exchanges so far.
    private(set) var uses = 0
    private(set) var idleSince = NIODeadline.now()
    /// How long the peer keeps it, by `Keep-Alive: timeout`, less a margin; nil where it does not say.
    private(set) var keepAliveHint: TimeAmount?
    var expiry: Scheduled<Void>?

    // Timeouts and measures, see the extensions.
    var isTicking = false
    var lastProgress = NIODeadline.now()
    var last = TCPInfo()
    /// As it stood when the request began.
    var atStart = TCPInfo()
    /// When the whole request had been acknowledged.
    var receivedAt: NIODeadline?
    /// When a response head that has begun was first seen.
    var headSeenAt: NIODeadline?
    let limiter: ResponseHeadLimiter
    private let receivedBytes: ReceivedBytes
    var isGentle = false
    var isRateLimited = false
    var window = ScavengerWindow()

    /// What the kernel takes ahead of what it has sent.
    static let unsentLimit: CInt = 256 << 10
    /// `Expect: 100-continue` is not waited for any longer (RFC 9110, section 10.1.1; curl's default).
    private static let continueTimeout: TimeAmount = .seconds(1)
    /// How long the rest of a response is waited for that refuses the body.
    private static let refusalTimeout: TimeAmount = .seconds(2)

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

    /// Puts HTTP on top of what is in the pipeline of an open channel. On its event loop.
    static func install(
        in channel: any Channel, origin: HTTPOrigin, proxy: HTTPProxy?, pool: ConnectionPool,
        configuration: HTTPClientConfiguration
    ) throws -> HTTPConnection {
        var limits = NIOHTTPDecoderLimitConfiguration()
        // Heads are limited as a whole, by the limiter.
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
        // The kernel takes no more than this ahead of what it has sent: what was accepted is soon on the wire, so that
        // bandwidth and cancellation mean something.
        let options = TCPOptions(channel)
        options?.limitUnsent(to: unsentLimit)
        options?.keepAlive(idle: 15, interval: 5, count: 4)
        return connection
    }

    var isActive: Bool { context?.channel.isActive ?? false }

    /// Nothing has come that would be taken for the response to the next request: bytes behind the last response, or the
    /// end of the connection.
    var isClean: Bool {
        readInfo()
        return last.received <= receivedBytes.count
    }

    var options: TCPOptions? { context.flatMap { TCPOptions($0.channel) } }

    // MARK: Exchange

    /// Begins an exchange on an idle connection.
    func begin(_ request: HTTPRequest, _ exchange: any HTTPExchange) {
        guard let context else { return exchange.ended(HTTPExchangeEnd(.closed)) }
        isKept = uses > 0
        uses += 1
        self.request = request
        self.exchange = exchange
        (requestEnded, isHandedOver, responseBegan, responseEnded, finalStatus) = (false, false, false, false, nil)
        (peerKeepsAlive, isReadingPaused, keepAliveHint) = (false, false, nil)
        (receivedAt, headSeenAt) = (nil, nil)
        awaitsContinue = request.options.expectsContinue && request.bodyLength > 0
        limiter.scanner.expectResponse()
        setWaterMark(Self.headWaterMark, context)
        // A connection that is used again has a past.
        readInfo()
        atStart = last
        noteProgress()
        scheduleTick(context)
        context.write(wrapOutboundOut(.head(request.head(for: proxy))), promise: nil)
        // It waits for the first bytes of the body, unless it is as large as few heads are.
        if !context.channel.isWritable { context.flush() }
        setWaterMark(for: exchange, context)
        exchange.began(on: self)
        if request.bodyLength == 0 {
            endBody()
        } else if awaitsContinue {
            context.flush()
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.continueTimeout) { [weak self] in
                self?.beginBody(of: exchange)
            }
        } else {
            exchange.writeBody()
        }
    }

    private func beginBody(of exchange: any HTTPExchange) {
        guard awaitsContinue, self.exchange === exchange else { return }
        awaitsContinue = false
        exchange.writeBody()
    }

    /// Whether the connection takes more of the body without piling it up.
    package var isWritable: Bool { !awaitsContinue && exchange != nil && (context?.channel.isWritable ?? false) }

    /// Writes some of the body.
    package func write(_ bytes: ByteBuffer) {
        guard let context, !requestEnded else { return }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
    }

    /// The body is complete.
    package func endBody() {
        guard let context, !requestEnded else { return }
        requestEnded = true
        let written = context.eventLoop.makePromise(of: Void.self)
        let use = uses
        written.futureResult.assumeIsolated().whenSuccess { [self] in if uses == use { isHandedOver = true } }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        if responseEnded { complete() }
    }

    /// Ends the exchange and resets the connection.
    package func stop(_ error: HTTPError = .stopped) { fail(error) }

    /// After ``ReadDecision/pause``.
    package func resumeReading() {
        guard isReadingPaused, let context else { return }
        isReadingPaused = false
        noteProgress()
        try? context.channel.syncOptions?.setOption(.autoRead, value: true)
    }

    /// Ends it between two exchanges.
    func closeIdle() {
        guard exchange == nil, let context else { return }
        isClosing = true
        context.close(promise: nil)
    }

    private func complete() {
        guard let exchange, let context else { return }
        let mayBeKept =
            peerKeepsAlive && requestEnded && responseEnded && !isReadingPaused && !isClosing
            // What is done to a send buffer cannot be undone: no other request gets this connection.
            && window.bytes == nil
        self.exchange = nil
        request = nil
        if mayBeKept {
            idleSince = .now()
            if isInRead { awaitsRelease = true } else { pool.release(self) }
        } else {
            isClosing = true
            if requestEnded { context.close(promise: nil) } else { reset(context) }
        }
        exchange.ended(HTTPExchangeEnd())
    }

    func fail(_ error: HTTPError) {
        guard let exchange else { return }
        let keptConnectionEnded = isKept && !responseBegan && error.isOfConnection
        self.exchange = nil
        request = nil
        if keptConnectionEnded, !isClosing { pool.closeIdle(to: peer) }
        isClosing = true
        if let context { reset(context) }
        exchange.ended(HTTPExchangeEnd(error, keptConnectionEnded: keptConnectionEnded))
    }

    private func reset(_ context: ChannelHandlerContext) {
        options?.closeWithReset()
        // TLS would write its farewell behind all that waits, and wait for the peer's: a reset waits for nothing.
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        (tls ?? context).close(promise: nil)
    }

    // MARK: Channel

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        peer = context.remoteAddress
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        fail(.closed)
        self.context = nil
    }

    package func channelInactive(context: ChannelHandlerContext) {
        fail(.closed)
        pool.closed(self)
        context.fireChannelInactive()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if exchange != nil {
            fail(HTTPError(error, limiter.scanner))
        } else {
            closeIdle()
        }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isWritable, !requestEnded { exchange?.writeBody() }
        context.fireChannelWritabilityChanged()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A peer that speaks first, or goes on after its response, has lost the count.
        guard let exchange else {
            awaitsRelease = false
            return closeIdle()
        }
        isInRead = true
        if !responseBegan, isKept, !hasArrived { return fail(.closed) }
        responseBegan = true
        noteProgress()
        switch unwrapInboundIn(data) {
        case .head(let head) where (100..<200).contains(head.status.code) && head.status.code != 101:
            exchange.received(interim: head)
            if head.status == .continue { beginBody(of: exchange) }
        case .head(let head): received(head, exchange, context)
        case .body(let bytes): received(bytes, exchange, context)
        case .end:
            responseEnded = true
            if requestEnded { complete() } else { endRefused() }
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        isInRead = false
        if awaitsRelease {
            awaitsRelease = false
            pool.release(self)
        }
        context.fireChannelReadComplete()
    }

    /// The peer's kernel has some of the request: what comes before cannot be the response to it.
    private var hasArrived: Bool {
        readInfo()
        return last.acknowledged > atStart.acknowledged
    }

    private func received(_ head: HTTPResponseHead, _ exchange: any HTTPExchange, _ context: ChannelHandlerContext) {
        finalStatus = Int(head.status.code)
        finalHeadAt = .now()
        peerKeepsAlive = head.isKeepAlive
        keepAliveHint = head.headers[canonicalForm: "keep-alive"].lazy.compactMap(Self.keepAlive).first
        exchange.received(head: head)
        guard self.exchange === exchange else { return }
        if let finalStatus, finalStatus < 300 {
            beginBody(of: exchange)
        } else if !requestEnded {
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.refusalTimeout) { [weak self] in
                guard let self, self.exchange === exchange else { return }
                endRefused()
            }
        }
    }

    /// A final response refuses the rest of the body; one that accepts it is of a server that answers before it reads.
    private func endRefused() {
        guard !requestEnded, let finalStatus, finalStatus >= 300 else { return }
        fail(.refusedBody)
    }

    private func received(_ bytes: ByteBuffer, _ exchange: any HTTPExchange, _ context: ChannelHandlerContext) {
        switch exchange.received(body: bytes) {
        case .more: break
        case .pause:
            guard self.exchange === exchange else { return }
            isReadingPaused = true
            try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        case .enough: if self.exchange === exchange { fail(.stopped) }
        }
    }

    /// `timeout=5`: as long as the peer says, less a margin for the way.
    private static func keepAlive(_ value: Substring) -> TimeAmount? {
        let parts = value.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1)
        guard parts.count == 2, Substring(parts[0]).lowercased() == "timeout", let seconds = Int64(Substring(parts[1])),
            (0...86_400).contains(seconds)
        else { return nil }
        return .milliseconds(seconds * 1000 - min(1000, seconds * 500))
    }
}
