internal import Crypto
internal import Glibc
internal import NIOCore
internal import NIOPosix

/// One connection of a ``MisbehavingReceiver``.
final class ReceiverConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let state: StateBox
    private let hashes: Bool
    private var number = 0
    private var pending = ByteBuffer()
    /// The place of the request under way in the list of requests.
    private var current: Int?
    private var declared = 0
    private var received = 0
    private var hash = SHA256()
    private var behaviour = Behaviour.answer(201)
    private var isHanging = false
    private var hasAnswered = false
    private var chunk = 0

    init(state: StateBox, hashes: Bool) {
        self.state = state
        self.hashes = hashes
    }

    func channelActive(context: ChannelHandlerContext) {
        number = state.access { state in
            state.connections += 1
            return state.connections - 1
        }
        context.fireChannelActive()
        context.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        noteEnd()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(ChannelEvent.inputClosed) = event as? ChannelEvent {
            noteEnd()
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        noteEnd()
        context.close(promise: nil)
    }

    private func noteEnd() {
        guard let current else { return }
        let now = ContinuousClock.now
        state.access {
            if current < $0.requests.count, $0.requests[current].ended == nil { $0.requests[current].ended = now }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        chunk += bytes.readableBytes
        pending.writeBuffer(&bytes)
        advance(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !isHanging else { return }
        guard case .slow(let rate) = behaviour, current != nil, chunk > 0 else {
            chunk = 0
            return context.read()
        }
        let wait = TimeAmount.nanoseconds(Int64(chunk) * 1_000_000_000 / Int64(max(rate, 1)))
        chunk = 0
        context.eventLoop.assumeIsolated().scheduleTask(in: wait) { context.read() }
    }

    private func advance(_ context: ChannelHandlerContext) {
        while !isHanging {
            if current == nil {
                guard beginRequest(context) else { return }
                if reached(.head, context) { return }
            }
            takeBody(context)
            if isHanging || current == nil { return }
            guard received == declared else { return }
            if !endRequest(context) { return }
        }
    }

    /// Reads the head of a request. - Returns: false where it is not there yet.
    private func beginRequest(_ context: ChannelHandlerContext) -> Bool {
        let end = Array("\r\n\r\n".utf8)
        guard let range = pending.readableBytesView.firstRange(of: end) else { return false }
        let length = range.upperBound - pending.readerIndex
        guard let text = pending.readString(length: length) else { return false }
        let lines = text.split(separator: "\r\n")
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count == 3 else {
            context.close(promise: nil)
            return false
        }
        let headers = lines.dropFirst().map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst().drop { $0 == " " }
            return ReceivedRequest.Header(name: String(line[..<colon]), value: String(value))
        }
        declared = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        received = 0
        hasAnswered = false
        hash = SHA256()
        let now = ContinuousClock.now
        let request = ReceivedRequest(
            connection: number, method: String(words[0]), target: String(words[1]), headers: headers,
            declared: declared,
            began: now, lastByte: now)
        let path = String(request.target.prefix { $0 != "?" })
        (current, behaviour) = state.access { state in
            state.requests.append(request)
            var next = Behaviour.answer(201)
            if let script = state.scripts[path], let first = script.first {
                next = first
                if script.count > 1 { state.scripts[path]?.removeFirst() }
            }
            return (state.requests.count - 1, next)
        }
        return true
    }

    private func takeBody(_ context: ChannelHandlerContext) {
        guard let current else { return }
        while received < declared, pending.readableBytes > 0, !isHanging {
            var count = min(declared - received, pending.readableBytes)
            // Up to the very byte at which something is to happen.
            if let stop = nextStop, stop > received { count = min(count, stop - received) }
            guard let bytes = pending.readSlice(length: count) else { return }
            received += count
            if hashes { hash.update(bufferPointer: bytes) }
            let (total, now) = (received, ContinuousClock.now)
            state.access {
                guard current < $0.requests.count else { return }
                $0.requests[current].bytes = total
                $0.requests[current].lastByte = now
            }
            if reached(.bytes(received), context) { return }
        }
        if pending.readableBytes == 0 { pending.clear() }
    }

    private var nextStop: Int? {
        switch behaviour {
        case .reset(.bytes(let count)), .close(.bytes(let count)), .hang(.bytes(let count)): count
        case .answerEarly(_, let count, _, _): count
        default: nil
        }
    }

    /// All of the request is there. - Returns: whether the connection lives on.
    private func endRequest(_ context: ChannelHandlerContext) -> Bool {
        let digest = hashes ? hexadecimal(hash.finalize()) : nil
        change { $0.sha256 = digest }
        if reached(.body, context) { return false }
        switch behaviour {
        case .answer(let status, let headers, let body): answer(context, status, headers, body)
        case .answerEarly(_, _, _, let closes):
            if closes { context.close(promise: nil) }
        case .slow: answer(context, 201)
        case .reset, .close, .hang:
            answer(context, 200, ["Content-Length": "100"], nil)
            _ = reached(.answerHead, context)
            return false
        case .wrongLength(let announced, let sent):
            answer(context, 200, ["Content-Length": "\(announced)"], String(repeating: "x", count: sent))
            context.close(promise: nil)
            return false
        case .garbage:
            context.writeAndFlush(
                wrapOutboundOut(ByteBuffer(string: "220 this is no web server\r\n\r\n")), promise: nil)
            context.close(promise: nil)
            return false
        case .answerAndClose:
            answer(context, 201)
            context.close(promise: nil)
            return false
        }
        current = nil
        return true
    }

    /// Does what is to be done at a point. - Returns: whether that was the end of the connection's work.
    private func reached(_ point: Behaviour.Point, _ context: ChannelHandlerContext) -> Bool {
        if case .answerEarly(let status, let count, let body, let closes) = behaviour, !hasAnswered, received >= count {
            answer(context, status, closes ? ["Connection": "close"] : [:], body)
            if closes {
                isHanging = true
                context.close(promise: nil)
                return true
            }
        }
        switch behaviour {
        case .reset(let at) where at.isReached(by: point):
            isHanging = true
            context.flush()
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            context.close(promise: nil)
        case .close(let at) where at.isReached(by: point):
            isHanging = true
            context.close(promise: nil)
        case .hang(let at) where at.isReached(by: point): isHanging = true
        default: return false
        }
        return true
    }

    /// - Parameter body: nil for a head only, whose length the headers tell.
    private func answer(
        _ context: ChannelHandlerContext, _ status: Int, _ headers: [String: String] = [:], _ body: String? = ""
    ) {
        hasAnswered = true
        change { $0.answered = status }
        var text = "HTTP/1.1 \(status) Status\r\n"
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { text += "\(name): \(value)\r\n" }
        if headers["Content-Length"] == nil { text += "Content-Length: \(body?.utf8.count ?? 0)\r\n" }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text + "\r\n" + (body ?? ""))), promise: nil)
    }

    private func change(_ body: (inout ReceivedRequest) -> Void) {
        guard let current else { return }
        state.access { if current < $0.requests.count { body(&$0.requests[current]) } }
    }
}

extension Behaviour.Point {
    fileprivate func isReached(by point: Self) -> Bool {
        switch (self, point) {
        case (.head, .head), (.body, .body), (.answerHead, .answerHead): true
        case (.bytes(let wanted), .bytes(let count)): count >= wanted
        default: false
        }
    }
}

extension SHA256 {
    fileprivate mutating func update(bufferPointer bytes: ByteBuffer) {
        bytes.withUnsafeReadableBytes { update(bufferPointer: $0) }
    }
}
