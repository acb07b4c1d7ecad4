internal import CLinux
internal import Glibc
internal import NIOCore

/// Reads a connection no faster than its server allows; TCP tells the sender.
final class PacedReads: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never

    private let state: ServerState
    /// Of the request under way, in bytes a second; goes before the server's.
    var requestRate: Double? { didSet { if requestRate != nil { (credit, stamp) = (0, clinux_monotonic()) } } }
    /// Bytes that may be read; below zero after a read, which is counted when it is known.
    private var credit = 0.0
    private var stamp: Int64 = clinux_monotonic()
    private var context: ChannelHandlerContext?
    private var isWaiting = false

    /// Seconds of reading that may be saved up.
    private static let burst = 0.02

    init(state: ServerState) { self.state = state }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        guard let rate = state.access({ $0.connectionRate }),
            let socket = context.channel as? any SocketOptionProvider
        else { return }
        // The kernel's buffer would take in megabytes ahead of a slow reader. 0.1 s is enough; the kernel doubles it.
        _ = socket.unsafeSetSocketOption(level: .socket, name: .so_rcvbuf, value: CInt(max(32_768, rate * 0.1)))
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func read(context: ChannelHandlerContext) {
        isWaiting = true
        goOn()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        credit -= Double(unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }

    /// Reads if it may, or comes again when it may.
    func goOn() {
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
            context.eventLoop.assumeIsolated().scheduleTask(in: wait) { self.goOn() }
        }
    }

    /// Closes with RST, below TLS: what was not read is not read.
    func reset() {
        guard let context else { return }
        Self.linger(context.channel)
        context.close(promise: nil)
    }

    /// Closes another connection with RST.
    static func reset(_ channel: any Channel) {
        channel.eventLoop.execute {
            // Without the handler the channel is closed.
            try? channel.pipeline.syncOperations.handler(type: PacedReads.self).reset()
        }
    }

    private static func linger(_ channel: any Channel) {
        _ = (channel as? any SocketOptionProvider)?.setSoLinger(Glibc.linger(l_onoff: 1, l_linger: 0))
    }
}
