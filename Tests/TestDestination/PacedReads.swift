import CLinux
import NIOCore

/// Reads a connection no faster than its destination allows; TCP tells the sender.
final class PacedReads: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never

    private let place: Place
    /// Bytes that may be read; below zero after a read, which is counted when it is known.
    private var credit = 0.0
    private var stamp: Int64 = clinux_monotonic()
    private var context: ChannelHandlerContext?
    private var isWaiting = false

    /// Seconds of reading that may be saved up.
    private static let burst = 0.02

    init(place: Place) { self.place = place }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        guard let rate = place.behaviour.connectionRate, let socket = context.channel as? any SocketOptionProvider
        else {
            return
        }
        // The kernel's buffer would take in megabytes ahead of a slow reader. 0.1 s is enough; the kernel doubles it.
        _ = socket.unsafeSetSocketOption(level: .socket, name: .so_rcvbuf, value: CInt(max(32_768, rate / 8 * 0.1)))
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
        guard isWaiting, let context, !place.behaviour.isMute else { return }
        guard let rate = place.behaviour.connectionRate.map({ $0 / 8 }) else {
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
}
