internal import NIOCore

/// What ends an exchange that gets nowhere. One timer a connection looks at everything, 4 times a second.
extension HTTPConnection {
    /// Transfers are measured at multiples of this on the monotonic clock, and workers report soon after.
    private static let beat: UInt64 = 250_000_000

    func noteProgress() { lastProgress = .now() }

    func scheduleTick(_ context: ChannelHandlerContext) {
        guard !isTicking else { return }
        isTicking = true
        let now = NIODeadline.now()
        let next = NIODeadline.uptimeNanoseconds((now.uptimeNanoseconds / Self.beat + 1) * Self.beat)
        let soon = now + .nanoseconds(max(shortestTimeout.nanoseconds / 4, 1_000_000))
        context.eventLoop.assumeIsolated().scheduleTask(deadline: min(next, soon)) { [weak self] in self?.tick() }
    }

    private var shortestTimeout: TimeAmount {
        TimeAmount(
            min(
                configuration.idleTimeout, configuration.silence, configuration.headTimeout,
                request?.options.responseTimeout ?? configuration.idleTimeout,
                request?.options.bodyTimeout ?? configuration.idleTimeout))
    }

    private func tick() {
        isTicking = false
        guard let context, let exchange else { return }
        let before = last
        readInfo()
        if last.acknowledged != before.acknowledged || last.received != before.received { noteProgress() }
        exchange.measured(last, since: atStart)
        guard self.exchange === exchange else { return }
        adjust(to: exchange, context)
        if let error = overdue(exchange) { return fail(error) }
        scheduleTick(context)
    }

    private func overdue(_ exchange: any HTTPExchange) -> HTTPError? {
        let now = NIODeadline.now()
        let waited = now - lastProgress
        if finalStatus != nil {
            if let limit = request?.options.bodyTimeout, requestEnded, now - finalHeadAt >= TimeAmount(limit) {
                return .bodyTimeout
            }
        } else if limiter.scanner.isInHead, let begun = headBegunAt(now),
            now - begun >= TimeAmount(configuration.headTimeout)
        {
            return .headTimeout
        }
        if exchange.isHeldBack {
            noteProgress()
            return nil
        }
        if isKept, !responseBegan, exchange.isRepeatable, last.acknowledged == atStart.acknowledged,
            waited >= TimeAmount(configuration.silence)
        {
            return .keptConnectionSilent
        }
        // All of it has been received: the peer is at work, and TCP keepalive tells whether it still lives.
        if isHandedOver, finalStatus == nil, last.unacknowledged == 0, last.unsent == 0,
            let limit = request?.options.responseTimeout
        {
            let since = receivedAt ?? now
            receivedAt = since
            return now - since >= TimeAmount(limit) ? .responseTimeout : nil
        }
        return waited >= TimeAmount(configuration.idleTimeout) ? .stalled : nil
    }

    /// When the head that has begun did so, within a tick.
    private func headBegunAt(_ now: NIODeadline) -> NIODeadline? {
        if headSeenAt == nil { headSeenAt = now }
        return headSeenAt
    }

    /// Bytes count when the peer's kernel has acknowledged them: what this host has merely buffered is no progress, and a
    /// full buffer that drains slowly is no stall.
    func readInfo() { if let info = options?.info { last = info } }
}
