internal import CLinux
internal import Commands
internal import Crypto
internal import Host
internal import NIOCore
internal import NIOPosix

/// One connection of a ``ScriptedServer``, which handles its requests one after the other.
final class ServerConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Phase {
        /// Waits for the head of the next request.
        case ready
        /// Ready for the next step.
        case stepping
        /// Reads the body until this number of bytes was received.
        case reading(until: Int)
        /// Waits for a timer, a write or another connection.
        case waiting
        /// Relays bytes between the client and another server.
        case relaying(any Channel)
        /// Handles nothing any more.
        case over
    }

    let state: ServerState
    let pace: PacedReads
    var keepsHeaders = true
    var phase = Phase.ready
    var exchange: Exchange?
    var pending = ByteBuffer()
    private let scheme: String
    private(set) var number = 0
    /// Counts steps and requests, so that the timer of an earlier step is ignored.
    var turn = 0
    private var isAdvancing = false
    /// The end of the last exchange on CLOCK_MONOTONIC in nanoseconds; nil before the first.
    private var idleSince: Int64?

    init(state: ServerState, pace: PacedReads, scheme: String) {
        self.state = state
        self.pace = pace
        self.scheme = scheme
    }

    // MARK: The channel

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        number = state.access { state in
            state.accepted += 1
            state.channels[state.accepted - 1] = channel
            return state.accepted - 1
        }
        context.fireChannelActive()
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        state.access { [number] in _ = $0.channels.removeValue(forKey: number) }
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(ChannelEvent.inputClosed) = event as? ChannelEvent {
            end()
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end()
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if case .relaying(let other) = phase {
            other.writeAndFlush(bytes, promise: nil)
            context.read()
            return
        }
        if pending.readableBytes == 0 { pending = bytes } else { pending.writeBuffer(&bytes) }
        advance(context)
    }

    /// Ends the current exchange with the connection.
    private func end() {
        if case .relaying(let other) = phase { other.close(promise: nil) }
        phase = .over
        turn += 1
        guard let exchange else { return }
        self.exchange = nil
        state.access { [number] in
            if !exchange.hasAnswered { $0.active -= 1 }
            if let file = exchange.file { $0.files.release(file, by: number) }
            guard exchange.index < $0.requests.count, $0.requests[exchange.index].ended == nil else { return }
            $0.requests[exchange.index].ended = .now
        }
    }

    // MARK: Progress

    /// Continues as far as the received bytes and the steps allow.
    func advance(_ context: ChannelHandlerContext) {
        guard !isAdvancing else { return }
        isAdvancing = true
        defer { isAdvancing = false }
        while true {
            switch phase {
            case .ready: guard begin(context) else { return }
            case .stepping:
                if exchange?.steps.isEmpty == false {
                    step(context)
                } else if exchange?.isWhole == false {
                    phase = .reading(until: exchange?.head.declared ?? 0)
                } else {
                    finish(context)
                }
            case .reading(let target):
                takeBody(until: target)
                guard let exchange, exchange.received < target else {
                    pace.requestRate = nil
                    phase = .stepping
                    continue
                }
                return context.read()
            case .waiting, .relaying, .over: return
            }
        }
    }

    /// Begins the next request.
    /// - Returns: false while its head is incomplete.
    private func begin(_ context: ChannelHandlerContext) -> Bool {
        guard let taken = RequestHead.take(from: &pending) else {
            context.read()
            return false
        }
        guard case .success(let head) = taken else {
            phase = .over
            context.close(promise: nil)
            return false
        }
        turn += 1
        var request = ReceivedRequest(
            connection: number, clientPort: context.remoteAddress?.port ?? 0, head: head, keepsHeaders: keepsHeaders)
        let idle: Duration = idleSince.map { .nanoseconds(clinux_monotonic() - $0) } ?? .zero
        exchange = state.access { state in
            if state.hashes, head.declared == 0 { request.sha256 = sha256([]) }
            let (index, choice) = state.begin(request, head, idle: idle)
            return Exchange(head, index: index, choice: choice, hashes: state.hashes)
        }
        phase = .stepping
        return true
    }

    private func takeBody(until target: Int) {
        guard var exchange, pending.readableBytes > 0 else { return }
        // Stop exactly at the byte at which the next step starts.
        let count = min(target - exchange.received, pending.readableBytes)
        guard count > 0, let bytes = pending.readSlice(length: count) else { return }
        exchange.take(bytes)
        let digest = exchange.isWhole ? exchange.hash?.finalize() : nil
        state.access { [exchange, number] in
            if let file = exchange.file { $0.files.write(bytes, to: file, by: number) }
            guard exchange.index < $0.requests.count else { return }
            $0.requests[exchange.index].add(count)
            if let digest { $0.requests[exchange.index].sha256 = Hexadecimal.text(digest) }
        }
        self.exchange = exchange
        if pending.readableBytes == 0 { pending.clear() }
    }

    /// Ends the exchange, so that the next one may begin.
    private func finish(_ context: ChannelHandlerContext) {
        guard let exchange else { return }
        state.access { [number] in
            if !exchange.hasAnswered { $0.active -= 1 }
            if let file = exchange.file { $0.files.release(file, by: number) }
        }
        self.exchange = nil
        idleSince = clinux_monotonic()
        phase = .ready
        if let idle = exchange.idle {
            after(idle, context) { context in
                guard case .ready = self.phase, self.pending.readableBytes == 0 else { return }
                context.close(promise: nil)
            }
        }
    }

    /// Updates the ledger entry of the current request, unless it was forgotten meanwhile.
    func note(_ change: (inout ServerState.Content) -> Void) {
        guard let exchange else { return }
        state.access { if exchange.index < $0.requests.count { change(&$0) } }
    }

    /// Runs something later, unless the phase has changed by then.
    func after(_ wait: Duration, _ context: ChannelHandlerContext, _ action: @escaping (ChannelHandlerContext) -> Void)
    {
        turn += 1
        let expected = turn
        context.eventLoop.assumeIsolated().scheduleTask(in: .init(wait)) {
            if self.turn == expected { action(context) }
        }
    }

    /// Ready for the next step.
    func resume(_ context: ChannelHandlerContext) {
        phase = .stepping
        advance(context)
    }

    /// `http://127.0.0.1:<port>`
    func origin(_ context: ChannelHandlerContext) -> String {
        let address = context.localAddress
        return "\(scheme)://\(address?.ipAddress ?? "127.0.0.1"):\(address?.port ?? 0)"
    }
}
