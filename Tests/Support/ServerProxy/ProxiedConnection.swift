internal import Glibc
internal import Host

/// A connection through a ``ServerProxy``, on the proxy's thread.
final class ProxiedConnection {
    let client: CInt
    let server: CInt
    private var toServer: ProxiedStream
    private var toClient: ProxiedStream
    /// Nothing is forwarded any more.
    private var isHalfOpen = false
    private(set) var isClosed = false
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    /// Called before a fault happens, so that it is known when a client meets it.
    private let willFail: () -> Void

    /// - Parameters:
    ///   - client: an accepted socket, which this owns.
    ///   - server: a connected socket, which this owns.
    init(client: CInt, server: CInt, _ fault: ProxyFault?, willFail: @escaping () -> Void) {
        (self.client, self.server, self.willFail) = (client, server, willFail)
        toServer = ProxiedStream(.toServer, fault)
        toClient = ProxiedStream(.toClient, fault)
    }

    /// The events that both sockets wait for.
    func entries(_ now: MonotonicTime) -> [pollfd] {
        if isHalfOpen { return [] }
        func events(_ source: ProxiedStream, _ sink: ProxiedStream) -> Int16 {
            Int16(source.isReading ? POLLIN : 0) | Int16(sink.next(now) == nil ? 0 : POLLOUT)
        }
        return [
            pollfd(fd: client, events: events(toServer, toClient), revents: 0),
            pollfd(fd: server, events: events(toClient, toServer), revents: 0),
        ]
    }

    /// When the next delayed bytes are due; nil without any that are not due yet.
    func due(after now: MonotonicTime) -> MonotonicTime? {
        isHalfOpen ? nil : [toServer.due, toClient.due].compactMap { $0 }.filter { $0 > now }.min()
    }

    /// Reads and writes what is possible.
    func advance(now: MonotonicTime) {
        if isHalfOpen { return }
        guard read(client, &toServer, now), read(server, &toClient, now), write(&toServer, to: server, now),
            write(&toClient, to: client, now)
        else { return close(resets: false) }
        if let action = toServer.action ?? toClient.action { meet(action) }
        if toServer.isEnded || toClient.isEnded { close(resets: false) }
    }

    /// Breaks the connection, unless it is broken.
    func meet(_ action: ProxyFault.Action) {
        if isHalfOpen || isClosed { return }
        willFail()
        switch action {
        case .close: close(resets: false)
        case .reset: close(resets: true)
        case .halfOpen: isHalfOpen = true
        case .delay: break
        }
    }

    func close(resets: Bool) {
        guard !isClosed else { return }
        isClosed = true
        for descriptor in [client, server] {
            if resets {
                var option = linger(l_onoff: 1, l_linger: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            }
            Glibc.close(descriptor)
        }
    }

    /// - Returns: false where the connection is broken.
    private func read(_ source: CInt, _ stream: inout ProxiedStream, _ now: MonotonicTime) -> Bool {
        while stream.isReading {
            let count = recv(source, &buffer, buffer.count, CInt(MSG_DONTWAIT))
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            guard count > 0 else {
                stream.end()
                return true
            }
            let bytes = buffer[..<count]
            if stream.direction == .toServer, BackendMessages.isNegotiation(Array(bytes)) {
                toClient.expectNegotiation()
            }
            stream.receive(bytes, now: now)
        }
        return true
    }

    private func write(_ stream: inout ProxiedStream, to sink: CInt, _ now: MonotonicTime) -> Bool {
        while let bytes = stream.next(now) {
            let flags = CInt(MSG_NOSIGNAL | MSG_DONTWAIT)
            let count = bytes.withUnsafeBytes { send(sink, $0.baseAddress, $0.count, flags) }
            guard count >= 0 else { return errno == EAGAIN || errno == EINTR }
            stream.forwarded(count)
        }
        return true
    }
}
