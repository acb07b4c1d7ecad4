internal import NIOCore

/// How much the kernel holds of a transfer, and how fast it may send.
extension HTTPConnection {
    /// The same as ``unsentLimit`` for what others must be able to overtake.
    private static let gentleUnsentLimit: CInt = 16 << 10
    /// Segments per second for a transfer that stands still, so that it waits at most a quarter of a second afterwards.
    private static let minSegments: UInt64 = 4
    /// A round trip in microseconds from which on a queue is worth keeping short: neither loopback nor a local network.
    private static let longRoundTrip: Int64 = 5_000
    /// No head is longer.
    static let headWaterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1 << 20, high: 4 << 20)
    /// One chunk waits here at most; the next is read when nearly all of it has gone to the kernel.
    private static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 8 << 10, high: 24 << 10)
    private static let gentleWaterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 2)

    func setWaterMark(_ mark: ChannelOptions.Types.WriteBufferWaterMark, _ context: ChannelHandlerContext) {
        // Fails on a closed channel only, where it does not matter.
        try? context.channel.syncOptions?.setOption(.writeBufferWaterMark, value: mark)
    }

    /// Prepares a connection for the body of an exchange.
    func setWaterMark(for exchange: any HTTPExchange, _ context: ChannelHandlerContext) {
        if exchange.isLowPriority {
            becomeGentle(context)
        } else if isGentle {
            // The next measure says whether it has to be.
            isGentle = false
            options?.limitUnsent(to: Self.unsentLimit)
        }
        setWaterMark(isGentle ? Self.gentleWaterMark : Self.waterMark, context)
        if isKept { options?.restartBBR() }
    }

    /// Adjusts to what was just measured.
    func adjust(to exchange: any HTTPExchange, _ context: ChannelHandlerContext) {
        if last.roundTrip > Self.longRoundTrip { becomeGentle(context) }
        guard exchange.isLowPriority else { return }
        let minimum = pool.minimumRoundTrip(last.minRoundTrip, to: peer)
        guard window.update(roundTrip: last.roundTrip, minRoundTrip: minimum, unacknowledged: last.unacknowledged),
            let bytes = window.bytes
        else { return }
        options?.setSendBuffer(CInt(bytes))
    }

    /// Keeps what waits here and in the kernel as short as a pause, a cut or a higher transfer needs it. On loopback it
    /// costs throughput, so it is for low priority and for round trips above 5 ms.
    private func becomeGentle(_ context: ChannelHandlerContext) {
        guard !isGentle else { return }
        isGentle = true
        options?.limitUnsent(to: Self.gentleUnsentLimit)
        setWaterMark(Self.gentleWaterMark, context)
    }

    /// The largest piece to be written, where what waits to be sent is kept short; nil: any size. The kernel looks at the
    /// send buffer's end before a piece and not within it.
    package var shortPiece: Int? { isGentle ? window.bytes.map { min(max($0 / 4, 1448), 8 << 10) } ?? 8 << 10 : nil }

    /// Lets bbr keep to a pace as well: what it sends again goes at its own rate otherwise, and where a link has become
    /// narrow, it fills it for seconds with what was under way (`default` kept to half of 2 Mbit/s after 2.75 s; so after
    /// 0.25 s). Other congestion controls slow down by themselves, and would be sent by timers from then on (a high upload
    /// on such a connection took 1.15 times its time alone, and not 1.07).
    /// - Parameter bytesPerSecond: of payload; nil: as fast as it can.
    package func limitRate(_ bytesPerSecond: Int64?) {
        guard let options, bytesPerSecond != nil || isRateLimited, options.isBBR else { return }
        isRateLimited = bytesPerSecond != nil
        guard let bytesPerSecond else { return options.limitRate(to: .max) }
        let allowed = UInt64(max(bytesPerSecond, 0))
        // The kernel's timer for the next segment goes by the rate of the last and is not shortened when the pace is
        // lifted.
        let minimum = Self.minSegments * UInt64(max(options.info?.segment ?? 0, 1460))
        options.limitRate(to: max(allowed + allowed / 4, minimum))
    }
}
