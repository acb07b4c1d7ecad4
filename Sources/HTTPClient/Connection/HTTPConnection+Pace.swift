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
