internal import NIOCore

/// Ends a connection whose response head is too large, before the parser sees it.
final class ResponseHeadLimiter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    var scanner = ResponseHeadScanner()
    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        guard scanner.scan(unwrapInboundIn(data).readableBytesView) else {
            isOver = true
            context.fireErrorCaught(HTTPError.headTooLarge(status: scanner.status))
            return
        }
        context.fireChannelRead(data)
    }
}
