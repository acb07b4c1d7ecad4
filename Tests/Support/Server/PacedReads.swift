internal import CLinux
internal import Glibc
internal import NIOCore

/// Reads a connection at a limited rate, which TCP's flow control passes to the sender.
final class PacedReads: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never

    private let state: ServerState
    /// The rate of the running request, in bytes a second; overrides that of the server.
    var requestRate: Double? { didSet { if requestRate != nil { (credit, stamp) = (0, clinux_monotonic()) } } }
    /// The number of bytes that may be read; negative after a read, because its size is known only
    /// afterwards.
    private var credit = 0.0
    private var stamp: Int64 = clinux_monotonic()
    private var context: ChannelHandlerContext?
    private var isWaiting = false

    /// The burst in seconds of the rate.
    private static let burst = 0.02

    init(state: ServerState) { self.state = state }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        guard let rate = state.access({ $0.connectionRate }),
            let socket = context.channel as? any SocketOptionProvider
        else { return }
        // By default the kernel buffers megabytes ahead of a slow reader. 0.1 s of the rate is enough; the
        // kernel doubles the value.
        _ = socket.unsafeSetSocketOption(level: .socket, name: .so_rcvbuf, value: CInt(max(32_768, rate * 0.1)))
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func read(context: ChannelHandlerContext) {
        isWaiting = true
        continueReading()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        credit -= Double(unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }

    /// Reads if the rate allows it, otherwise schedules a read.
    func continueReading() {
        guard isWaiting, let context else { return }
        let (isMute, common) = state.access { ($0.isMute, $0.connectionRate) }
        guard !isMute else { return }
        guard let rate = requestRate ?? common else {
            credit = 0
            isWaiting = false
            context.read()
            return
        }
        let now = clinux_monotonic()
        credit = min(credit + Double(now - stamp) / 1e9 * rate, rate * Self.burst)
        stamp = now
        if credit >= 0 {
            isWaiting = false
            context.read()
        } else {
            let wait = TimeAmount.nanoseconds(Int64(-credit / rate * 1e9) + 1)
            context.eventLoop.assumeIsolated().scheduleTask(in: wait) { self.continueReading() }
        }
    }

    /// Closes the connection with RST, below TLS. Unread bytes stay unread.
    func reset() {
        guard let context else { return }
        Self.linger(context.channel)
        context.close(promise: nil)
    }

    /// Closes another connection with RST.
    static func reset(_ channel: any Channel) {
        channel.eventLoop.execute {
            // If the handler is missing, the channel is already closed.
            try? channel.pipeline.syncOperations.handler(type: PacedReads.self).reset()
        }
    }

    private static func linger(_ channel: any Channel) {
        _ = (channel as? any SocketOptionProvider)?.setSoLinger(Glibc.linger(l_onoff: 1, l_linger: 0))
    }
}
