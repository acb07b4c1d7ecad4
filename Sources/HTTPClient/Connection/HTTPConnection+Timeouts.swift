internal import NIOCore

/// Ends an exchange that makes no progress. One timer per connection checks everything, 4 times a second.
extension HTTPConnection {
    /// Nanoseconds between two measurements. They are taken at multiples of this on the monotonic clock, and
    /// workers report soon after.
    private static let measureInterval: UInt64 = 250_000_000
    static let measureDuration = Duration.nanoseconds(Int64(measureInterval))

    func noteProgress() { lastProgress = .now() }

    func scheduleTick(_ context: ChannelHandlerContext) {
        guard !isTicking else { return }
        isTicking = true
        let now = NIODeadline.now()
        let next = NIODeadline.uptimeNanoseconds(
            (now.uptimeNanoseconds / Self.measureInterval + 1) * Self.measureInterval)
        let soon = now + .nanoseconds(max(shortestTimeout.nanoseconds / 4, 1_000_000))
        context.eventLoop.assumeIsolated().scheduleTask(deadline: min(next, soon)) { [weak self] in self?.tick() }
    }

    private var shortestTimeout: TimeAmount {
        TimeAmount(
            min(
                configuration.idleTimeout, configuration.silenceTimeout, configuration.headTimeout,
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
        adjust(to: exchange, since: before, context)
        if let error = overdue(exchange) { return fail(error) }
        scheduleTick(context)
    }

    private func overdue(_ exchange: any HTTPExchange) -> HTTPError? {
        let now = NIODeadline.now()
        let waited = now - lastProgress
        if state.finalStatus != nil {
            if let limit = request?.options.bodyTimeout, state.requestEnded,
                now - state.finalHeadAt >= TimeAmount(limit)
            {
                return .bodyTimeout
            }
        } else if limiter.scanner.isInHead {
            let seen = state.headSeenAt ?? now
            state.headSeenAt = seen
            if now - seen >= TimeAmount(configuration.headTimeout) { return .headTimeout }
        }
        if exchange.isHeldBack {
            noteProgress()
            return nil
        }
        if isKept, !state.responseBegan, exchange.isRepeatable, last.acknowledged == atStart.acknowledged,
            waited >= TimeAmount(configuration.silenceTimeout)
        {
            return .keptConnectionSilent
        }
        // The peer has received the whole request and works on it. TCP keepalive detects a dead host meanwhile.
        if state.isHandedOver, state.finalStatus == nil, last.unacknowledged == 0, last.unsent == 0,
            let limit = request?.options.responseTimeout
        {
            let since = state.receivedAt ?? now
            state.receivedAt = since
            return now - since >= TimeAmount(limit) ? .responseTimeout : nil
        }
        return waited >= TimeAmount(configuration.idleTimeout) ? .stalled : nil
    }

    /// Reads the kernel's counters. Bytes count as progress when the peer's kernel has acknowledged them:
    /// bytes in a local buffer are not progress, and a full buffer that drains slowly is not a stall.
    func readInfo() { if let info = options?.info { last = info } }
}
