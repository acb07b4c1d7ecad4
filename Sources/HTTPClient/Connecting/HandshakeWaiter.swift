internal import NIOCore
internal import NIOTLS

/// Waits for the end of a TLS handshake.
final class HandshakeWaiter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    let finished: EventLoopFuture<Void>
    private let promise: EventLoopPromise<Void>

    init(loop: any EventLoop) {
        promise = loop.makePromise()
        finished = promise.futureResult
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { promise.succeed(()) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { promise.fail(error) }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(HTTPError.tls(.interrupted))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { promise.fail(HTTPError.tls(.interrupted)) }
}
