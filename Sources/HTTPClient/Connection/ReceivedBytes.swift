internal import NIOCore

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
