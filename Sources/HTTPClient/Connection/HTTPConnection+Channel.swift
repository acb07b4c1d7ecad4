package import NIOCore
internal import NIOHTTP1

/// The events of the channel: bytes of the response, errors, and the end of the connection.
extension HTTPConnection {
    /// How long the rest of a response is awaited that refuses the body.
    private static let refusalTimeout: TimeAmount = .seconds(2)

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        peer = context.remoteAddress
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        fail(.closed)
        self.context = nil
    }

    package func channelInactive(context: ChannelHandlerContext) {
        fail(.closed)
        pool.closed(self)
        context.fireChannelInactive()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if exchange != nil {
            fail(HTTPError(error, limiter.scanner))
        } else {
            closeIdle()
        }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isWritable, !state.requestEnded { exchange?.writeBody() }
        context.fireChannelWritabilityChanged()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Requests and responses no longer match: the peer sent something unasked, or more than its response.
        guard let exchange else {
            awaitsRelease = false
            return closeIdle()
        }
        isInRead = true
        if !state.responseBegan, isKept, !hasArrived { return fail(.closed) }
        state.responseBegan = true
        noteProgress()
        switch unwrapInboundIn(data) {
        case .head(let head) where (100..<200).contains(head.status.code) && head.status.code != 101:
            exchange.received(interim: head)
            if head.status == .continue { beginBody(of: exchange) }
        case .head(let head): received(head, exchange, context)
        case .body(let bytes): received(bytes, exchange, context)
        case .end:
            state.responseEnded = true
            if state.requestEnded { complete() } else { endRefused() }
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        isInRead = false
        if awaitsRelease {
            awaitsRelease = false
            pool.release(self)
        }
        context.fireChannelReadComplete()
    }

    /// Whether the peer's kernel has received a part of the request. Bytes that arrive earlier cannot be the
    /// response to it.
    private var hasArrived: Bool {
        readInfo()
        return last.acknowledged > atStart.acknowledged
    }

    private func received(_ head: HTTPResponseHead, _ exchange: any HTTPExchange, _ context: ChannelHandlerContext) {
        var head = head
        let status = Int(head.status.code)
        // The parser puts its own words in place of the server's.
        let words = limiter.scanner.reasonPhrase
        if status >= 300, !words.isEmpty { head.status = .custom(code: head.status.code, reasonPhrase: words) }
        state.finalStatus = status
        state.finalHeadAt = .now()
        state.peerKeepsAlive = head.isKeepAlive
        keepAliveHint = head.headers[canonicalForm: "keep-alive"].lazy.compactMap(Self.keepAlive).first
        exchange.received(head: head)
        guard self.exchange === exchange else { return }
        if status < 300 {
            beginBody(of: exchange)
        } else if !state.requestEnded {
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.refusalTimeout) { [weak self] in
                guard let self, self.exchange === exchange else { return }
                endRefused()
            }
        }
    }

    /// Ends an exchange whose final response refuses the rest of the body. A server that answers with success
    /// before it has read the whole body still gets the rest.
    private func endRefused() {
        guard !state.requestEnded, let status = state.finalStatus, status >= 300 else { return }
        fail(.refusedBody)
    }

    private func received(_ bytes: ByteBuffer, _ exchange: any HTTPExchange, _ context: ChannelHandlerContext) {
        switch exchange.received(body: bytes) {
        // Parts of one read arrive also after a pause, and the exchange may take the next one again.
        case .more: resumeReading()
        case .pause:
            guard self.exchange === exchange else { return }
            state.isReadingPaused = true
            try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        case .enough: if self.exchange === exchange { fail(.stopped) }
        }
    }

    /// Reads `timeout=5`. The result is up to a second shorter, because a request takes time to reach the
    /// peer.
    private static func keepAlive(_ value: Substring) -> TimeAmount? {
        let parts = value.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1)
        guard parts.count == 2, Substring(parts[0]).lowercased() == "timeout", let seconds = Int64(Substring(parts[1])),
            (0...86_400).contains(seconds)
        else { return nil }
        return .milliseconds(seconds * 1000 - min(1000, seconds * 500))
    }
}
