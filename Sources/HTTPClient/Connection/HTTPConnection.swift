internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The connection has moved no byte either way for too long.
struct StallError: Error {
    /// It was a kept one that took in nothing of this request: its network is most likely gone.
    var isOfDeadConnection = false
}

/// Stands between the client's request handler and the HTTP codec of each connection, and does what the client leaves out:
/// * sends the head together with the first bytes of the body, in one system call and one packet,
/// * measures by the peer's acknowledgements, 4 times a second, and notices a stall by them, so that slow is not taken for
///   dead,
/// * tells the transfer when the channel takes more bytes, and when the response is complete,
/// * closes a connection in mid-request with a reset, so that what the kernel still holds never reaches the peer,
/// * gives up a kept connection that takes in nothing: the network has changed since, and a new one may do.
final class ConnectionWatch: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let board: ConnectionBoard
    private let idleTimeout: TimeAmount
    private let silence: TimeAmount
    private var transfer: HTTPTransfer?
    private var context: ChannelHandlerContext?
    /// As long as it lasts, and afterwards.
    private(set) var peer: SocketAddress?
    /// It was there before its request: it has been used, or it was made and not needed then.
    private var isKept = false
    private var isBusy = false
    /// This side has closed it, which says nothing of the network.
    private var isClosing = false
    private var requestEnded = false
    private var responseEnded = false
    private var responseBegan = false
    private var holdsHead = false
    private var isTicking = false
    private var lastProgress = NIODeadline.now()
    private var idleSince = NIODeadline.now()
    private var last = TCPInfo()
    /// As it stood when the request began.
    private var atStart = TCPInfo()
    private var isGentle = false
    private var isRateLimited = false
    private var window = ScavengerWindow()

    /// Transfers are measured at multiples of this on the monotonic clock, and workers report soon after.
    private static let beat: UInt64 = 250_000_000
    /// What the kernel takes ahead of what it has sent.
    private static let unsentLimit: CInt = 256 << 10
    /// The same for what others must be able to overtake.
    private static let gentleUnsentLimit: CInt = 16 << 10
    /// A connection that is made for a request has it within this.
    private static let moment: TimeAmount = .milliseconds(100)
    /// Segments per second for who stands still, so that none waits for longer than a quarter of a second afterwards.
    private static let leastSegments: UInt64 = 4
    /// A round trip in microseconds from which on a queue is worth keeping short: no loopback and no local network.
    private static let longRoundTrip: Int64 = 5_000

    private init(board: ConnectionBoard, _ configuration: HTTPConfiguration) {
        self.board = board
        idleTimeout = TimeAmount(configuration.idleTimeout)
        silence = TimeAmount(configuration.silence)
    }

    /// Puts a watch into a new connection of the client. On its event loop.
    static func install(in channel: any Channel, board: ConnectionBoard, _ configuration: HTTPConfiguration) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPResponseDecoder>.self)
        let watch = ConnectionWatch(board: board, configuration)
        try pipeline.addHandler(watch, position: .after(decoder.handler))
        // The kernel takes no more than this ahead of what it has sent: what was accepted is soon on the wire, so that
        // bandwidth and cancellation mean something.
        TCPOptions(channel)?.limitUnsent(to: unsentLimit)
    }

    /// No head is longer. The client does not expect a channel that becomes full while it writes one, and traps.
    private static let headWaterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1 << 20, high: 4 << 20)
    /// One chunk waits here at most; the next is read when nearly all of it has gone to the kernel.
    private static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 8 << 10, high: 24 << 10)
    private static let gentleWaterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 2)

    private func setWaterMark(_ mark: ChannelOptions.Types.WriteBufferWaterMark, _ context: ChannelHandlerContext) {
        // Fails on a closed channel only, where it does not matter.
        try? context.channel.syncOptions?.setOption(.writeBufferWaterMark, value: mark)
    }

    /// Lets bbr keep to a pace as well: what it sends again goes at its own rate otherwise, and where a link has become narrow,
    /// it fills it for seconds with what was under way (`default` kept to half of 2 Mbit/s after 2.75 s; so after 0.25 s).
    /// Others slow down by themselves, and would be sent by timers from then on (a high upload on such a connection took
    /// 1.15 times its time alone, and not 1.07).
    /// - Parameter bytesPerSecond: of payload; nil: as fast as it can.
    func limitRate(_ bytesPerSecond: Int64?) {
        guard let options, bytesPerSecond != nil || isRateLimited, options.isBBR else { return }
        isRateLimited = bytesPerSecond != nil
        guard let bytesPerSecond else { return options.limitRate(to: .max) }
        let allowed = UInt64(max(bytesPerSecond, 0))
        // The kernel's timer for the next segment goes by the rate of the last and is not shortened when the pace is lifted.
        let least = Self.leastSegments * UInt64(max(options.info?.segment ?? 0, 1460))
        options.limitRate(to: max(allowed + allowed / 4, least))
    }

    /// Keeps what waits here and in the kernel as short as a pause, a cut or a higher transfer needs it. On loopback it
    /// costs throughput, so it is for low quality and for round trips above 5 ms.
    private func becomeGentle(_ context: ChannelHandlerContext) {
        guard !isGentle else { return }
        isGentle = true
        options?.limitUnsent(to: Self.gentleUnsentLimit)
        setWaterMark(Self.gentleWaterMark, context)
    }

    /// Ends it between two requests.
    func closeKept() { if let context { reset(context, promise: nil) } }

    private var options: TCPOptions? { context.flatMap { TCPOptions($0.channel) } }

    /// Whether the channel takes more bytes without piling them up.
    var isWritable: Bool { context?.channel.isWritable ?? false }

    /// The largest piece to be written, where what waits to be sent is kept short; nil: as large as it likes. The kernel
    /// looks at the send buffer's end before a piece and not within it.
    var shortPiece: Int? { isGentle ? window.bytes.map { min(max($0 / 4, 1448), 8 << 10) } ?? 8 << 10 : nil }

    /// Binds the request whose head has just been written.
    func attach(_ transfer: HTTPTransfer) {
        self.transfer = transfer
        guard let context else { return }
        if transfer.makesWay {
            becomeGentle(context)
        } else if isGentle {
            // The next measure says whether it has to be.
            isGentle = false
            options?.limitUnsent(to: Self.unsentLimit)
        }
        setWaterMark(isGentle ? Self.gentleWaterMark : Self.waterMark, context)
        if isKept { options?.restartBBR() }
    }

    // MARK: Life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        peer = context.remoteAddress
        board.keep(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        transfer = nil
        board.take(self)
    }

    func channelInactive(context: ChannelHandlerContext) {
        noteDeath()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        noteDeath()
        context.fireErrorCaught(error)
    }

    private func noteDeath() {
        guard isBusy, isKept, !responseBegan else { return }
        transfer?.keptConnectionEnded()
        if !isClosing { board.closeKept(to: peer) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        isClosing = true
        if isBusy, mode == .all {
            reset(context, promise: promise)
        } else {
            context.close(mode: mode, promise: promise)
        }
    }

    private func reset(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        options?.closeWithReset()
        // TLS would write its farewell behind all that waits, and wait for the peer's: a reset waits for nobody.
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        (tls ?? context).close(promise: promise)
    }

    // MARK: Request

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            if .now() - idleSince >= Self.moment { isKept = true }
            isBusy = true
            board.take(self)
            (requestEnded, responseEnded, responseBegan) = (false, false, false)
            setWaterMark(Self.headWaterMark, context)
            holdsHead = head.headers.first(name: "content-length").map { $0 != "0" } ?? false
            board.latest = self
            peer = context.remoteAddress ?? peer
            // A connection that is used again has a past.
            read()
            atStart = last
            noteProgress()
            scheduleTick(context)
        case .body: holdsHead = false
        case .end:
            holdsHead = false
            requestEnded = true
            if responseEnded { becomeIdle() }
        }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) { if !holdsHead { context.flush() } }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.fireChannelWritabilityChanged()
        if context.channel.isWritable { transfer?.pump() }
    }

    // MARK: Response

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        responseBegan = true
        noteProgress()
        if case .head(var head) = unwrapInboundIn(data), window.bytes != nil {
            // What is done to a send buffer cannot be undone: nobody else gets this connection.
            head.headers.replaceOrAdd(name: "connection", value: "close")
            return context.fireChannelRead(wrapInboundOut(.head(head)))
        }
        guard case .end = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        responseEnded = true
        let ended = transfer
        if requestEnded { becomeIdle() }
        // The next request may be written to this connection before this call returns.
        context.fireChannelRead(data)
        ended?.responseEnded()
    }

    private func becomeIdle() {
        isBusy = false
        isKept = true
        transfer = nil
        idleSince = .now()
        board.keep(self)
    }

    // MARK: Stalls

    private func noteProgress() { lastProgress = .now() }

    private func scheduleTick(_ context: ChannelHandlerContext) {
        guard !isTicking else { return }
        isTicking = true
        let now = NIODeadline.now().uptimeNanoseconds
        let next = NIODeadline.uptimeNanoseconds((now / Self.beat + 1) * Self.beat)
        let soon = NIODeadline.now() + .nanoseconds(max(idleTimeout.nanoseconds / 4, 1_000_000))
        context.eventLoop.assumeIsolated().scheduleTask(deadline: min(next, soon)) { [weak self] in self?.tick() }
    }

    private func tick() {
        isTicking = false
        guard let context, isBusy else { return }
        let before = last
        read()
        if last.acknowledged != before.acknowledged || last.received != before.received { noteProgress() }
        if let transfer {
            transfer.observed(last, since: atStart)
            if last.roundTrip > Self.longRoundTrip { becomeGentle(context) }
            if transfer.makesWay { scavenge(context) }
        }
        let waited = NIODeadline.now() - lastProgress
        if let transfer, transfer.isHeldBack {
            noteProgress()
        } else if isSilent, waited >= silence {
            noteDeath()
            return context.fireErrorCaught(StallError(isOfDeadConnection: true))
        } else if waited >= idleTimeout + (transfer?.extraPatience ?? .zero) {
            return context.fireErrorCaught(StallError())
        }
        scheduleTick(context)
    }

    /// A kept connection has taken in nothing of this request, which may be sent again over another.
    private var isSilent: Bool {
        isKept && !responseBegan && last.acknowledged == atStart.acknowledged
            && transfer?.mayBeSentAgain == true
    }

    private func scavenge(_ context: ChannelHandlerContext) {
        let least = board.least(last.leastRoundTrip, to: peer)
        guard window.update(roundTrip: last.roundTrip, leastRoundTrip: least, unacknowledged: last.unacknowledged),
            let bytes = window.bytes
        else { return }
        options?.setSendBuffer(CInt(bytes))
    }

    /// Bytes count when the peer's kernel has acknowledged them: what this host has merely buffered is no progress, and a
    /// full buffer that drains slowly is no stall.
    private func read() { if let info = options?.info { last = info } }
}
