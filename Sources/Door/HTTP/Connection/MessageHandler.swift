internal import NIOCore
internal import NIOHTTP1

/// The last handler before the task of a connection: sees requests and responses.
final class MessageHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPPart<HTTPResponseHead, ByteBuffer>
    typealias OutboundOut = HTTPServerResponsePart

    private let timers: ConnectionTimers
    private let buffers: ReceiveBuffers
    private let statistics: DoorStatistics
    private let presence: ClientPresence
    private let overhead: ChunkOverhead
    private var isInformational = false
    private var isQuiescing = false
    private var isInputClosed = false
    private var isOutputClosed = false

    init(
        _ timers: ConnectionTimers, buffers: ReceiveBuffers, statistics: DoorStatistics, presence: ClientPresence,
        overhead: ChunkOverhead
    ) {
        self.overhead = overhead
        self.presence = presence
        self.timers = timers
        self.buffers = buffers
        self.statistics = statistics
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timers.expired = { [statistics] expiry in
            statistics.countExpired(expiry.rawValue)
            switch expiry {
            // The task answers with 408.
            case .slowHeader: context.fireErrorCaught(ConnectionError.slowHeader)
            case .silent, .idle, .slowReader: context.close(promise: nil)
            }
        }
        timers.bodyIsSlow = { [statistics] in
            statistics.countExpired("slow-body")
            context.fireErrorCaught(ConnectionError.slowBody)
        }
        overhead.exceeded = { [statistics] in
            statistics.countBadRequest(ConnectionError.chunkOverhead.problem.type)
            context.fireErrorCaught(ConnectionError.chunkOverhead)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timers.stop()
        overhead.exceeded = {}
        buffers.setReadingBody(false)
        presence.end()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            let hasBody = RequestHead.announcesBody(head)
            timers.headRead(hasBody: hasBody)
            buffers.setReadingBody(hasBody)
            overhead.beginBody(isChunked: head.headers.contains(name: "transfer-encoding"))
        case .body(let buffer): overhead.contentRead(buffer.readableBytes)
        case .end:
            timers.messageRead()
            overhead.endBody()
            buffers.setReadingBody(false)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch Self.unwrapOutboundIn(data) {
        case .head(let head):
            isInformational = (100..<200).contains(head.status.code)
            context.write(Self.wrapOutboundOut(.head(head)), promise: promise)
        case .body(let buffer): context.write(Self.wrapOutboundOut(.body(.byteBuffer(buffer))), promise: promise)
        case .end(let trailers):
            if !isInformational { timers.responseWritten() }
            guard isQuiescing, !timers.isAnswering else {
                context.write(Self.wrapOutboundOut(.end(trailers)), promise: promise)
                return
            }
            let promise = promise ?? context.eventLoop.makePromise()
            context.write(Self.wrapOutboundOut(.end(trailers)), promise: promise)
            promise.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            isQuiescing = true
            if !timers.isAnswering { context.close(promise: nil) }
            return
        case ChannelEvent.inputClosed:
            isInputClosed = true
            presence.end()
        case ChannelEvent.outputClosed: isOutputClosed = true
        default: break
        }
        context.fireUserInboundEventTriggered(event)
        if isInputClosed, isOutputClosed { context.close(promise: nil) }
    }
}
