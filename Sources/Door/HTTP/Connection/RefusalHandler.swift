internal import NIOCore

/// Answers a connection beyond the maximum with 503, without reading its request, and closes it.
final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let response: ByteBuffer?
    private let timeout: TimeAmount

    /// - Parameters:
    ///   - response: nil: the connection is closed at once.
    ///   - timeout: for the client to take the response and close its end.
    init(_ response: ByteBuffer?, timeout: TimeAmount) {
        self.response = response
        self.timeout = timeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { refuse(context) }
    }

    func channelActive(context: ChannelHandlerContext) { refuse(context) }

    /// Drops the request: closing a socket with unread bytes would reset the connection, and the response with it.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent, ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func refuse(_ context: ChannelHandlerContext) {
        guard let response else {
            context.close(promise: nil)
            return
        }
        context.writeAndFlush(NIOAny(response), promise: nil)
        context.close(mode: .output, promise: nil)
        context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { context.close(promise: nil) }
    }
}
