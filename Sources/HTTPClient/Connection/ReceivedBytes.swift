internal import NIOCore

/// Counts what has been read from a connection, TLS and all: where the kernel has received more, bytes wait that no request
/// of ours asked for, or the peer's FIN.
final class ReceivedBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private(set) var count: Int64 = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += Int64(unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }
}
