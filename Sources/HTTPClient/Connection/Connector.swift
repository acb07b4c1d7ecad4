internal import Commands
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import NIOTLS

/// Opens connections: name, address, proxy tunnel, TLS, HTTP, all within
/// ``HTTPClientConfiguration/connectTimeout``. Each connect belongs to one request, so its failure fails that
/// request only.
final class Connector: Sendable {
    private let loop: any EventLoop
    private let configuration: HTTPClientConfiguration
    private let resolver: NameResolver
    private let contexts = TLSContexts()

    init(loop: any EventLoop, configuration: HTTPClientConfiguration, resolver: NameResolver) {
        self.loop = loop
        self.configuration = configuration
        self.resolver = resolver
    }

    /// - Parameter completion: is called on the loop, exactly once.
    func connect(
        to origin: HTTPOrigin, for pool: ConnectionPool,
        completion: @escaping (Result<HTTPConnection, HTTPError>) -> Void
    ) {
        let proxy = configuration.proxies.proxy(for: origin)
        let configuration = configuration
        let deadline = NIODeadline.now() + TimeAmount(configuration.connectTimeout)
        open(to: origin, through: proxy, deadline)
            .flatMap { [self] channel in secure(channel, origin, deadline).map { channel } }
            .assumeIsolated()
            .flatMapThrowing { channel in
                try HTTPConnection.install(
                    in: channel, origin: origin, proxy: origin.isEncrypted ? nil : proxy, pool: pool,
                    configuration: configuration)
            }
            .whenComplete { [self] result in
                switch result {
                case .success(let connection): completion(.success(connection))
                case .failure(let error):
                    let error = HTTPError(connecting: error, to: origin.host)
                    explain(error, origin, proxy) { completion(.failure($0)) }
                }
            }
    }

    // MARK: Steps

    /// Opens a channel whose other end is the origin or, for an unencrypted origin, its proxy. An encrypted
    /// origin is reached through a tunnel of the proxy.
    private func open(
        to origin: HTTPOrigin, through proxy: HTTPProxy?, _ deadline: NIODeadline
    ) -> EventLoopFuture<any Channel> {
        // A proxy is chosen by the operator, and resolves the names of origins itself.
        let channel =
            if let proxy {
                connect(host: proxy.host, port: proxy.port, objection: nil)
            } else {
                connect(host: origin.host, port: origin.port, objection: configuration.addressObjection)
            }
        guard let proxy, origin.isEncrypted else { return channel }
        return channel.flatMap { channel in
            let tunnel = ProxyTunnel(to: origin, authorization: proxy.authorization, loop: channel.eventLoop)
            return Self.run(tunnel, tunnel.opened, on: channel, deadline).map { channel }
        }
    }

    private func connect(
        host: String, port: Int, objection: (@Sendable (String, SocketAddress) -> String?)?
    ) -> EventLoopFuture<any Channel> {
        let bootstrap = ClientBootstrap(group: loop).connectTimeout(TimeAmount(configuration.connectTimeout))
            // Bytes that arrive while handlers are exchanged wait in the kernel, so that none is lost.
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ReceivedBytes())
                }
            }
        if let address = try? SocketAddress(ipAddress: host, port: port) {
            if let reason = objection?(host, address) {
                return loop.makeFailedFuture(HTTPError.notPermitted(reason))
            }
            return bootstrap.connect(to: address)
        }
        let addresses = PermittedAddresses(resolver, host: host, on: loop, objection: objection)
        return bootstrap.resolver(addresses).connect(host: host, port: port)
    }

    private func secure(_ channel: any Channel, _ origin: HTTPOrigin, _ deadline: NIODeadline) -> EventLoopFuture<Void>
    {
        guard origin.isEncrypted else { return Self.startReading(channel) }
        return contexts.context(for: configuration.tls[origin], on: loop).flatMap { context in
            do {
                let handler = try NIOSSLClientHandler(context: context, serverHostname: origin.nameForTLS)
                return try Self.handshake(handler, on: channel, deadline)
            } catch {
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(HTTPError.local("no TLS for \(origin): \(error.words)"))
            }
        }
    }

    private static func handshake(
        _ handler: NIOSSLClientHandler, on channel: any Channel, _ deadline: NIODeadline
    ) throws -> EventLoopFuture<Void> {
        try channel.pipeline.syncOperations.addHandler(handler)
        let waiter = HandshakeWaiter(loop: channel.eventLoop)
        return run(waiter, waiter.finished, on: channel, deadline)
    }

    /// Adds a handler and removes it when it has finished. Runs on the channel's event loop.
    /// - Parameter finished: completes when the handler has finished.
    private static func run(
        _ handler: any ChannelInboundHandler & RemovableChannelHandler, _ finished: EventLoopFuture<Void>,
        on channel: any Channel, _ deadline: NIODeadline
    ) -> EventLoopFuture<Void> {
        let timeout = channel.eventLoop.scheduleTask(deadline: deadline) {
            channel.pipeline.fireErrorCaught(HTTPError.connectTimeout)
        }
        do { try channel.pipeline.syncOperations.addHandler(handler) } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return startReading(channel).flatMap { finished }
            .assumeIsolated()
            .flatMap { channel.pipeline.syncOperations.removeHandler(handler) }
            .always { result in
                timeout.cancel()
                if case .failure = result { channel.close(promise: nil) }
            }
            .nonisolated()
    }

    private static func startReading(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.setOption(.autoRead, value: true)
    }

    // MARK: Certificates

    /// Learns what BoringSSL does not report about a failed handshake: the dates of the certificate, and
    /// whether the server demands a client certificate. A second handshake shows both; no request is sent
    /// over it.
    private func explain(
        _ error: HTTPError, _ origin: HTTPOrigin, _ proxy: HTTPProxy?, _ completion: @escaping (HTTPError) -> Void
    ) {
        let isUnclear: Bool
        switch error {
        case .tls(.certificateUntrusted), .tls(.other): isUnclear = true
        default: isUnclear = false
        }
        guard isUnclear else { return completion(error) }
        let deadline = NIODeadline.now() + TimeAmount(configuration.connectTimeout)
        let inspection = CertificateInspection()
        open(to: origin, through: proxy, deadline)
            .flatMap { channel -> EventLoopFuture<Void> in
                do {
                    return try Self.handshake(try inspection.handler(for: origin), on: channel, deadline).always { _ in
                        channel.close(promise: nil)
                    }
                } catch {
                    channel.close(promise: nil)
                    return channel.eventLoop.makeFailedFuture(error)
                }
            }
            .assumeIsolated()
            .whenComplete { _ in completion(inspection.verdict(error)) }
    }
}

extension HTTPOrigin {
    /// The name for SNI and for the check of the certificate; nil for an address, which the channel supplies
    /// itself.
    var nameForTLS: String? { (try? SocketAddress(ipAddress: host, port: port)) == nil ? host : nil }
}

/// Waits for the end of a TLS handshake.
final class HandshakeWaiter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    let finished: EventLoopFuture<Void>
    private let promise: EventLoopPromise<Void>

    init(loop: any EventLoop) {
        promise = loop.makePromise()
        finished = promise.futureResult
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { promise.succeed(()) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { promise.fail(error) }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(HTTPError.tls(.interrupted))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { promise.fail(HTTPError.tls(.interrupted)) }
}
