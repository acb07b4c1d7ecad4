internal import NIOCore

/// Requests a tunnel from a proxy by CONNECT (RFC 9110, section 9.3.6).
final class ProxyTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let opened: EventLoopFuture<Void>
    private let promise: EventLoopPromise<Void>
    private let origin: HTTPOrigin
    private let authorization: String?
    private var scanner = ResponseHeadScanner()

    init(to origin: HTTPOrigin, authorization: String?, loop: any EventLoop) {
        self.origin = origin
        self.authorization = authorization
        promise = loop.makePromise()
        opened = promise.futureResult
    }

    func handlerAdded(context: ChannelHandlerContext) {
        scanner.expectResponse()
        var head = "CONNECT \(origin.authority) HTTP/1.1\r\nHost: \(origin.authority)\r\nUser-Agent: sluice\r\n"
        if let authorization { head += "Proxy-Authorization: \(authorization)\r\n" }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head + "\r\n")), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data).readableBytesView
        while scanner.isExpectingHead {
            switch scanner.scan(bytes) {
            case .unended: return
            case .ended(let count): bytes = bytes.dropFirst(count)
            case .tooLarge: return promise.fail(HTTPError.proxyRefused(status: scanner.status))
            }
        }
        // Nothing follows the head: the server sends nothing before it has received something.
        switch scanner.status {
        case .some(200..<300): promise.succeed(())
        case let status: promise.fail(HTTPError.proxyRefused(status: status))
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { promise.fail(error) }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(HTTPError.proxyRefused(status: scanner.status))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { promise.fail(HTTPError.proxyRefused(status: nil)) }
}
