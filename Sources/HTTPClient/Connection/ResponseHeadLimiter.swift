internal import NIOCore

/// Passes each response head on as a whole, so that what a server has written carelessly is mended
/// (``ResponseHeadRepair``) before the parser, which refuses it, sees it. Ends a connection whose head is too large.
final class ResponseHeadLimiter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    var scanner = ResponseHeadScanner()
    /// The part of the present head that has arrived.
    private var head = ByteBuffer()
    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        while !isOver, scanner.isExpectingHead, bytes.readableBytes > 0 {
            switch scanner.scan(bytes.readableBytesView) {
            case .unended:
                head.writeBuffer(&bytes)
                // The parser refuses the first bytes of another protocol, whose end may never come.
                if !scanner.mayBeHTTP { passHead(context) }
            case .ended(let count):
                if var rest = bytes.readSlice(length: count) { head.writeBuffer(&rest) }
                passHead(context)
            case .tooLarge:
                isOver = true
                context.fireErrorCaught(HTTPError.headTooLarge(status: scanner.status))
            }
        }
        if !isOver, bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    }

    private func passHead(_ context: ChannelHandlerContext) {
        let mended = ResponseHeadRepair.mended(head.readableBytesView).map { ByteBuffer(bytes: $0) }
        let bytes = mended ?? head
        head = ByteBuffer()
        context.fireChannelRead(wrapInboundOut(bytes))
    }
}
