internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

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

/// Whether the client has closed its end of a connection. The event loop writes it; a task of a request waits for it.
final class ClientPresence: Sendable {
    private struct State {
        var isGone = false
        var body: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Replaces an earlier body, which is not called.
    func whenGone(_ body: @escaping @Sendable () -> Void) {
        let isGone = state.withLock { state in
            if !state.isGone { state.body = body }
            return state.isGone
        }
        if isGone { body() }
    }

    func end() {
        let body = state.withLock { state in
            state.isGone = true
            return state.body.take()
        }
        body?()
    }
}

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
