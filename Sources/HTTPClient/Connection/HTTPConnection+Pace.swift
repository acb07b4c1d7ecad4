internal import NIOCore

/// How much of a transfer the kernel buffers, and how fast it may send.
extension HTTPConnection {
    /// As ``unsentLimit``, for transfers that others must be able to overtake.
    private static let shortQueueUnsentLimit: CInt = 16 << 10
    /// Segments per second for a paused transfer. It then waits at most a quarter of a second once the pause
    /// is lifted.
    private static let minSegments: UInt64 = 4
    /// The round trip above which the queue is kept short. Loopback and local networks stay
    /// below it.
    private static let minQueuedRoundTrip: Duration = .milliseconds(5)
    /// For the head, which is never longer.
    static let headWaterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1 << 20, high: 4 << 20)
    /// For the body: at most one chunk waits here. The next is read when nearly all of it has gone to the
    /// kernel.
    private static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 8 << 10, high: 24 << 10)
    private static let shortQueueWaterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 2)

    func setWaterMark(_ mark: ChannelOptions.Types.WriteBufferWaterMark, _ context: ChannelHandlerContext) {
        // This fails only on a closed channel, where it has no effect anyway.
        try? context.channel.syncOptions?.setOption(.writeBufferWaterMark, value: mark)
    }

    /// Prepares a connection for the body of an exchange.
    func setWaterMark(for exchange: any HTTPExchange, _ context: ChannelHandlerContext) {
        if exchange.isLowPriority {
            keepQueueShort(context)
        } else if keepsQueueShort {
            // The next measurement shows whether the queue must be kept short.
            keepsQueueShort = false
            options?.limitUnsent(to: Self.unsentLimit)
        }
        setWaterMark(keepsQueueShort ? Self.shortQueueWaterMark : Self.waterMark, context)
        if isKept { options?.restartBBR() }
    }

    /// Adjusts the buffers to the latest measurement.
    /// - Parameter before: the measurement before it.
    func adjust(to exchange: any HTTPExchange, since before: TCPInfo, _ context: ChannelHandlerContext) {
        if let roundTrip = last.roundTrip, roundTrip > Self.minQueuedRoundTrip { keepQueueShort(context) }
        guard exchange.isLowPriority else { return }
        let minimum = pool.minimumRoundTrip(last.minRoundTrip, to: peer)
        adjustReceiveWindow(minRoundTrip: minimum, received: last.received - before.received)
        guard window.update(roundTrip: last.roundTrip, minRoundTrip: minimum, unacknowledged: last.unacknowledged),
            let bytes = window.bytes
        else { return }
        options?.setSendBuffer(CInt(bytes))
    }

    /// - Parameter received: bytes since the measurement before. Without any, the kernel has no new round trip.
    private func adjustReceiveWindow(minRoundTrip: Duration?, received: Int64) {
        guard received > 0, let roundTrip = last.receiveRoundTrip else { return }
        let inFlight = Double(received) * (roundTrip / Self.measureDuration)
        let isFirst = receiveWindow.bytes == nil
        guard
            receiveWindow.update(
                roundTrip: roundTrip, minRoundTrip: minRoundTrip, unacknowledged: Int64(inFlight)),
            let bytes = receiveWindow.bytes
        else { return }
        if isFirst { options?.setReceiveBuffer(CInt(ScavengerWindow.maxBytes)) }
        options?.limitReceiveWindow(to: CInt(bytes))
    }

    /// Keeps the queue here and in the kernel so short that a pause, a cut or an urgent transfer takes effect
    /// at once. This costs throughput on loopback, so it applies to low priority and to round trips above 5
    /// ms only.
    private func keepQueueShort(_ context: ChannelHandlerContext) {
        guard !keepsQueueShort else { return }
        keepsQueueShort = true
        options?.limitUnsent(to: Self.shortQueueUnsentLimit)
        setWaterMark(Self.shortQueueWaterMark, context)
    }

    /// The maximum bytes of one write while the queue is kept short; nil: any number. The kernel checks the
    /// limit of the send buffer before a write, not within it.
    package var shortPiece: Int? {
        keepsQueueShort ? window.bytes.map { min(max($0 / 4, 1448), 8 << 10) } ?? 8 << 10 : nil
    }

    /// Makes bbr keep to a pace too. Otherwise it sends retransmissions at its own rate. When a link became
    /// narrow, it then filled the link for seconds with the bytes in flight: `default` traffic kept to half
    /// of 2 Mbit/s after 2.75 s, with this after 0.25 s. Other congestion controls slow down by themselves.
    /// This setting would make the kernel send by timers from then on: a high upload on such a connection
    /// took 1.15 times its time alone, without it 1.07.
    /// - Parameter bytesPerSecond: of payload; nil: as fast as the network permits.
    package func limitRate(_ bytesPerSecond: Int64?) {
        guard let options, bytesPerSecond != nil || isRateLimited, options.isBBR else { return }
        isRateLimited = bytesPerSecond != nil
        guard let bytesPerSecond else { return options.limitRate(to: .max) }
        let allowed = UInt64(max(bytesPerSecond, 0))
        // The kernel sets its timer for the next segment by the rate of the last one, and does not shorten it when the
        // pace is lifted.
        let minimum = Self.minSegments * UInt64(max(options.info?.segment ?? 0, 1460))
        options.limitRate(to: max(allowed + allowed / 4, minimum))
    }
}

/// How many bytes a transfer of low quality may have in flight, so that the queue of a slow link stays short
/// and the next transfer does not wait behind it. Pure.
///
/// This is LEDBAT's idea (RFC 6817): yield as soon as the round trip exceeds its minimum by more than a
/// target, whatever the cause. Here the kernel's congestion control stays as it is. The send buffer of an
/// upload shrinks: the bytes in the network and in the socket together never exceed it. The receive window of a
/// download shrinks (rLEDBAT, RFC 9840), so that the server stops within a round trip when a pause stops to read.
/// One cubic transfer fills any queue; 150 kB of it at 2 Mbit/s delayed the first byte of a high transfer by 0.6 s
/// (measured).
struct ScavengerWindow: Sendable {
    /// The value for SO_SNDBUF, which the kernel doubles for its bookkeeping, or for TCP_WINDOW_CLAMP; nil: the
    /// kernel's own choice still applies.
    private(set) var bytes: Int?

    /// The tolerated queue: LEDBAT++'s 60 ms (draft-irtf-iccrg-ledbat-plus-plus), not the 100
    /// ms of RFC 6817. Beside eight transfers at 20 Mbit/s and 50 ms, 2.5 MB of high quality take 1.14 times
    /// their time alone, and 1.17 times with 100 ms. The total throughput is the same.
    static let target: Duration = .milliseconds(60)
    /// The same for downloads. A server's slow start ends at the first loss, so the queue must have room for it: a
    /// queue of 60 ms, which is usual, is full before a target of 60 ms is exceeded.
    static let downloadTarget: Duration = .milliseconds(25)

    let target: Duration
    /// Three full packets.
    static let minBytes = 4608
    /// The default maximum of the kernel (`net.core.wmem_max` and `rmem_max`).
    static let maxBytes = 212_992

    init(target: Duration = ScavengerWindow.target) { self.target = target }

    /// Adds a measurement; there are 4 a second.
    /// - Parameters:
    ///   - roundTrip: smoothed; nil before the first.
    ///   - minRoundTrip: the known minimum to this destination; nil for none.
    ///   - unacknowledged: bytes in flight.
    /// - Returns: whether ``bytes`` has changed.
    mutating func update(roundTrip: Duration?, minRoundTrip: Duration?, unacknowledged: Int64) -> Bool {
        guard let roundTrip, let minRoundTrip else { return false }
        let queue = roundTrip - minRoundTrip
        let before = bytes
        if queue > target {
            let now = bytes ?? min(max(Int(unacknowledged), Self.minBytes), Self.maxBytes)
            // Down to half of the target at once. The bytes in flight are in proportion to the round trip, so this
            // does not empty the link.
            let share = max((minRoundTrip + target / 2) / roundTrip, 0.25)
            bytes = max(Int(Double(now) * share), Self.minBytes)
        } else if queue < target / 2, let now = bytes {
            // Grow slowly near the target. Without growth, one spike of a wireless link's round trip would count for
            // ever.
            bytes = min(Int(Double(now) * (queue < target / 4 ? 1.5 : 1.05)), Self.maxBytes)
        }
        return bytes != before
    }
}

/// The minimum round trip to each address in the last 5 to 10 minutes. A connection that begins behind a full
/// queue never measures the true minimum itself. RFC 6817 forgets base delays in the same way, because routes
/// change. Pure.
struct MinimumRoundTrips {
    private var recent: [SocketAddress: Duration] = [:]
    private var older: [SocketAddress: Duration] = [:]
    private var turnedAt: NIODeadline?

    private static let half: TimeAmount = .minutes(5)

    /// - Parameter roundTrip: nil where none is known yet.
    /// - Returns: the known minimum; nil for none.
    mutating func add(_ roundTrip: Duration?, to address: SocketAddress, now: NIODeadline) -> Duration? {
        if now - (turnedAt ?? now) > Self.half { (older, recent, turnedAt) = (recent, [:], now) }
        turnedAt = turnedAt ?? now
        if let roundTrip { recent[address] = min(recent[address] ?? roundTrip, roundTrip) }
        return [recent[address], older[address]].compactMap { $0 }.min()
    }
}
