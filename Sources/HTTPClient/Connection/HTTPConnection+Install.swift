internal import NIOCore
internal import NIOHTTP1

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
