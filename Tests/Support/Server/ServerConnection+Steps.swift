internal import Host
internal import NIOCore
internal import NIOPosix

extension ServerConnection {
    /// Runs the next step of the current request.
    func step(_ context: ChannelHandlerContext) {
        guard let exchange, let step = self.exchange?.steps.popFirst() else { return }
        turn += 1
        switch step {
        case .read(let count, let rate):
            if exchange.head["expect"]?.lowercased() == "100-continue", !exchange.hasSpoken, exchange.received == 0 {
                self.exchange?.hasSpoken = true
                context.writeAndFlush(
                    wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
            }
            pace.requestRate = rate.map { Double($0) }
            phase = .reading(until: min(count ?? .max, exchange.head.declared))
        case .discard(let limit): discard(limit, context)
        case .wait(let wait):
            phase = .waiting
            after(wait, context) { self.resume($0) }
        case .interim(let answer):
            self.exchange?.hasSpoken = true
            send(Outgoing(answer, to: exchange.head.method) { self.replaced($0, context) }, context) { self.resume($0) }
        case .answer(let answer): self.answer(answer, context)
        case .send(let bytes, let drip): send(Outgoing(bytes, drip: drip), context) { self.resume($0) }
        case .store(let wait, let pause): store(wait, pause, context)
        case .tunnel(let address): tunnel(to: address, context)
        case .forward(let address): forward(to: address, context)
        case .idle(let limit): self.exchange?.idle = limit
        case .close:
            phase = .waiting
            context.close(promise: nil)
        case .halfClose: context.close(mode: .output, promise: nil)
        case .reset:
            phase = .waiting
            context.flush()
            pace.reset()
        case .hang: phase = .waiting
        case .handle: handle()
        }
    }

    private func handle() {
        guard let exchange, let handler = state.access({ $0.handler }) else { return }
        let request = HandledRequest(
            method: exchange.head.method, target: exchange.head.target, headers: exchange.head.headers,
            body: exchange.body.map { Array($0.readableBytesView) } ?? [])
        self.exchange?.steps = handler.respond(to: request).steps[...] + exchange.steps
    }

    private func replaced(_ text: String, _ context: ChannelHandlerContext) -> String {
        exchange?.replacing(text, origin: origin(context)) ?? text
    }

    private func answer(_ answer: ScriptAnswer, _ context: ChannelHandlerContext) {
        guard let exchange else { return }
        self.exchange?.hasSpoken = true
        note { $0.requests[exchange.index].answered = answer.status }
        send(Outgoing(answer, to: exchange.head.method) { self.replaced($0, context) }, context) { context in
            if self.exchange?.hasAnswered == false {
                self.exchange?.hasAnswered = true
                self.state.access { $0.active -= 1 }
                self.note { $0.requests[exchange.index].answeredAt = .now }
            }
            self.resume(context)
        }
    }

    /// Sends the pieces, each after the one before it was written.
    private func send(
        _ outgoing: Outgoing, _ context: ChannelHandlerContext,
        whenOut: @escaping (ChannelHandlerContext) -> Void
    ) {
        phase = .waiting
        var outgoing = outgoing
        guard let piece = outgoing.next() else { return whenOut(context) }
        let rest = outgoing
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { result in
            guard case .success = result, case .waiting = self.phase, self.exchange != nil else { return }
            guard let pause = piece.pause else { return self.send(rest, context, whenOut: whenOut) }
            self.after(pause, context) { self.send(rest, $0, whenOut: whenOut) }
        }
        context.writeAndFlush(wrapOutboundOut(piece.bytes), promise: promise)
    }

    /// Reads and drops the rest of the body, for a limited time.
    private func discard(_ limit: Duration, _ context: ChannelHandlerContext) {
        guard let exchange else { return }
        after(limit, context) { context in
            guard case .reading = self.phase else { return }
            self.resume(context)
        }
        phase = .reading(until: exchange.head.declared)
    }

    /// Lets the files of the server decide the target of the body and the answer.
    private func store(_ wait: Duration, _ pause: ScriptPause?, _ context: ChannelHandlerContext) {
        guard let exchange else { return }
        let (path, response, stopped) = state.access { [number] state in
            let (path, response, writer) = state.files.decide(exchange.head, for: number, hashes: state.hashes)
            return (path, response, writer.flatMap { $0 == number ? nil : state.channels[$0] })
        }
        // An earlier connection, which may be half dead, must not write to the file any more.
        if let stopped { PacedReads.reset(stopped) }
        self.exchange?.file = path
        var steps: [ScriptStep] = [.answer(response.answer)]
        if response.closes {
            steps += [.discard(.seconds(1)), .close]
        } else {
            let pieces = pause.map { Self.pieces(of: exchange.head.declared, $0) } ?? []
            steps = pieces + [.read()] + (wait > .zero ? [.wait(wait)] : []) + steps
        }
        self.exchange?.steps = ArraySlice(steps) + exchange.steps
    }

    /// The steps that read a body of the declared size, with pauses.
    private static func pieces(of declared: Int, _ pause: ScriptPause) -> [ScriptStep] {
        stride(from: pause.size, to: declared, by: pause.size).flatMap { end -> [ScriptStep] in
            [.read(upTo: end), .wait(pause.length)]
        }
    }
}
