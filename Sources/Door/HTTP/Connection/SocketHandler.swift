internal import NIOCore

/// The first handler of a connection: sees every byte in both directions.
final class SocketHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// A write of this size is progress: 64 KiB in 30 s are 2 KiB/s.
    private static let maxWrite = 64 << 10

    private let timers: ConnectionTimers
    private let overhead: ChunkOverhead

    init(_ timers: ConnectionTimers, _ overhead: ChunkOverhead) {
        self.timers = timers
        self.overhead = overhead
    }

    func handlerAdded(context: ChannelHandlerContext) { timers.start() }
    func handlerRemoved(context: ChannelHandlerContext) { timers.stop() }

    func channelInactive(context: ChannelHandlerContext) {
        timers.stop()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let count = Self.unwrapInboundIn(data).readableBytes
        timers.bytesArrived()
        context.fireChannelRead(data)
        overhead.bytesRead(count)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(var buffer) = Self.unwrapOutboundIn(data) else {
            write(data, context, promise)
            return
        }
        while buffer.readableBytes > Self.maxWrite, let slice = buffer.readSlice(length: Self.maxWrite) {
            write(Self.wrapOutboundOut(.byteBuffer(slice)), context, nil)
        }
        write(Self.wrapOutboundOut(.byteBuffer(buffer)), context, promise)
    }

    private func write(_ data: NIOAny, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        let promise = promise ?? context.eventLoop.makePromise()
        timers.writeBegan()
        promise.futureResult.assumeIsolated().whenComplete { [timers] _ in timers.writeEnded() }
        context.write(data, promise: promise)
    }
}
