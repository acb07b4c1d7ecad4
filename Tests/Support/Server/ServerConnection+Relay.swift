internal import NIOCore
internal import NIOPosix

/// The steps of a proxy.
extension ServerConnection {
    /// Connects the client with the target of its CONNECT.
    func tunnel(to address: ScriptAddress?, _ context: ChannelHandlerContext) {
        guard let exchange, let address = address ?? ScriptAddress(exchange.head.target) else {
            return refuse(400, context)
        }
        relay(to: address, context) { _ in
            context.writeAndFlush(
                self.wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n")), promise: nil)
            return []
        }
    }

    /// Forwards the request to the host of its absolute URL.
    func forward(to address: ScriptAddress?, _ context: ChannelHandlerContext) {
        let scheme = "http://"
        guard let exchange, exchange.head.target.hasPrefix(scheme) else { return refuse(400, context) }
        let rest = exchange.head.target.dropFirst(scheme.count)
        let authority = String(rest.prefix { $0 != "/" && $0 != "?" })
        let target = rest.dropFirst(authority.count)
        guard
            let address = address ?? ScriptAddress(authority.contains(":") ? authority : "\(authority):80")
        else { return refuse(400, context) }
        relay(to: address, context) { head in
            var text = "\(head.method) \(target.hasPrefix("/") ? target : "/\(target)") HTTP/1.1\r\n"
            for header in head.headers where !header.name.lowercased().hasPrefix("proxy-") {
                text += "\(header.name): \(header.value)\r\n"
            }
            return Array((text + "\r\n").utf8)
        }
    }

    private func refuse(_ status: Int, _ context: ChannelHandlerContext) {
        exchange?.steps = [.answer(ScriptAnswer(status)), .close]
        phase = .stepping
    }

    /// - Parameter first: the bytes for the other server before those of the client.
    private func relay(
        to address: ScriptAddress, _ context: ChannelHandlerContext, first: @escaping (RequestHead) -> [UInt8]
    ) {
        guard let head = exchange?.head, let index = exchange?.index else { return }
        phase = .waiting
        let channel = context.channel
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { other in
                other.eventLoop.makeCompletedFuture {
                    try other.pipeline.syncOperations.addHandler(RelayEnd(other: channel))
                }
            }
            .connect(host: address.host, port: address.port).assumeIsolated().whenComplete { result in
                guard case .waiting = self.phase else {
                    if case .success(let other) = result { other.close(promise: nil) }
                    return
                }
                guard case .success(let other) = result else {
                    self.refuse(502, context)
                    return self.advance(context)
                }
                self.note { $0.requests[index].answered = 200 }
                let start = first(head)
                if !start.isEmpty { other.write(ByteBuffer(bytes: start), promise: nil) }
                if self.pending.readableBytes > 0 { other.write(self.pending, promise: nil) }
                other.flush()
                self.pending.clear()
                self.phase = .relaying(other)
                context.read()
            }
    }
}
