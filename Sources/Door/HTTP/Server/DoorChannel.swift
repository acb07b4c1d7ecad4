internal import Commands
internal import HTTPTypes
internal import Host
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Sets up and runs the connections of a ``DoorServer``.
///
/// It bounds what it reads of a rejected body, closes connections of HTTP/1.0, answers parse errors behind the checks that
/// every request passes, and has deadlines for slow bodies and readers.
struct DoorChannel: Sendable {
    struct Value: Sendable {
        /// Nil where the connection was refused.
        let connection: DoorConnection?
    }

    /// Names and values of `Upload-Metadata` are long: 64 of up to 4 KiB each.
    private static let maxFieldBytes = 80 << 10
    private static let maxFields = 200
    /// Connections that send nothing must not keep health checks out.
    private static let reserveHeaderTimeout: Duration = .seconds(2)

    let configuration: DoorServerConfiguration
    let dispatcher: RequestDispatcher
    let hostCheck: HostCheck
    let forwarded: ForwardedAddress
    let limit: ConnectionLimit
    let budget = ReceiveBudget()
    let bodyMemory: BodyMemory
    let running: RunningRequests
    let statistics: DoorStatistics
    let logger: Logger
    let observe: @Sendable (CompletedRequest) -> Void
    private let basePath: [String]

    init(
        _ configuration: DoorServerConfiguration, dispatcher: RequestDispatcher, maxConnections: Int,
        running: RunningRequests, statistics: DoorStatistics, logger: Logger,
        observe: @escaping @Sendable (CompletedRequest) -> Void
    ) {
        self.configuration = configuration
        self.dispatcher = dispatcher
        let publicHost = configuration.publicBaseURL.flatMap(Self.host)
        hostCheck = HostCheck(
            names: configuration.allowedHosts + [configuration.host] + (publicHost.map { [$0] } ?? []))
        forwarded = ForwardedAddress(trustedProxies: configuration.trustedProxies)
        let shared = ForwardedAddress(trustedProxies: configuration.trustedProxies + ["127.0.0.0/8", "::1"])
        limit = ConnectionLimit(max: maxConnections, statistics: statistics, isShared: shared.isTrusted)
        self.running = running
        self.statistics = statistics
        bodyMemory = BodyMemory(capacity: configuration.bodyMemory, statistics: statistics)
        self.logger = logger
        self.observe = observe
        basePath = configuration.basePath.split(separator: "/").map(String.init)
    }

    /// - Parameter isEncrypted: with TLS, where the door has a certificate.
    func setup(_ channel: any Channel, isEncrypted: Bool) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if isEncrypted, let certificate = configuration.certificate {
                try pipeline.addHandler(certificate.handler())
            }
            let admission = limit.admit(channel)
            guard admission == .admitted || admission == .reserve else {
                let timeout = TimeAmount.nanoseconds(configuration.drainTimeout.nanoseconds)
                let response: ByteBuffer? = if case .refused(let refusal) = admission { busy(refusal) } else { nil }
                try pipeline.addHandler(RefusalHandler(response, timeout: timeout))
                return Value(connection: nil)
            }
            let buffers = ReceiveBuffers(budget)
            try channel.syncOptions?.setOption(.recvAllocator, value: buffers)
            // NIO keeps as many buffers of each connection, also of an idle one.
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            let progress = BodyProgress(rate: configuration.minBodyRate, window: configuration.bodyRateWindow)
            var timing = configuration
            if admission == .reserve { timing.headerTimeout = min(timing.headerTimeout, Self.reserveHeaderTimeout) }
            let timers = ConnectionTimers(timing, progress: progress, eventLoop: channel.eventLoop)
            var framing = HTTPResponseEncoder.Configuration()
            // The encoder does not know of HEAD; ``ResponseOutput`` does.
            framing.automaticallySetFramingHeaders = false
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = Self.maxFieldBytes
            limits.maxHeaderListSize = Self.maxFieldBytes
            limits.maxHeaderFieldCount = Self.maxFields
            let overhead = ChunkOverhead()
            try pipeline.addHandler(SocketHandler(timers, overhead))
            try pipeline.addHandler(HTTPResponseEncoder(configuration: framing))
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: limits)))
            let presence = ClientPresence()
            try pipeline.addHandler(
                MessageHandler(
                    timers, buffers: buffers, statistics: statistics, presence: presence, overhead: overhead))
            let parts = try NIOAsyncChannel<HTTPServerRequestPart, ResponseOutput.Part>(
                wrappingChannelSynchronously: channel,
                configuration: .init(
                    backPressureStrategy: .init(lowWatermark: 1, highWatermark: ReceiveBudget.partsPerConnection),
                    isOutboundHalfClosureEnabled: true))
            return Value(
                connection: DoorConnection(
                    door: self, parts: parts, progress: progress, presence: presence,
                    isReserve: admission == .reserve))
        }
    }

    func handle(_ value: Value) async {
        do {
            try await value.connection?.run()
        } catch {
            // The client went away, which its connection always may.
            logger.debug("A connection ended early: \(error)")
        }
    }

    /// - Parameter request: with the whole path.
    func respond(to request: DoorRequest, head: RequestHead, isReserve: Bool) async -> RequestDispatcher.Answer {
        if head.target.isAsterisk {
            return .init(response: Response(status: .noContent, headers: [.allow: "GET, HEAD, OPTIONS"]))
        }
        guard request.path.starts(with: basePath) else {
            let problem = Problem(.notFound, "not-found", "The server has no such resource; check the URL.")
            return .init(response: problem.response(basePath: configuration.basePath, instance: request.id))
        }
        var request = request
        request.path.removeFirst(basePath.count)
        return await dispatcher.respond(to: request, host: head.host, isReserve: isReserve)
    }

    /// The start of the links in a response: the URL that the client uses, as far as it is known, else the path alone.
    func baseURL(host: String?, peer: String?, fields: HTTPFields) -> String {
        if let url = configuration.publicBaseURL { return url }
        let scheme =
            switch forwarded.scheme(peer: peer, fields: fields) {
            case .asConnected: configuration.certificate == nil ? "http" : "https"
            case .stated(let scheme): scheme
            // A proxy before the door may use TLS, and only trusted ones say so.
            case .unknown: ""
            }
        guard let host, !scheme.isEmpty else { return configuration.basePath }
        return "\(scheme)://\(host)\(configuration.basePath)"
    }

    private func busy(_ refusal: ConnectionLimit.Refusal) -> ByteBuffer {
        let id = "\(CommandID())"
        let problem = refusal == .all ? Problem.tooManyConnections : .tooManyConnectionsOfAddress
        var response = problem.response(basePath: configuration.basePath, instance: id)
        StandardFields.add(to: &response.headers, id: id, seconds: Timestamp.now.milliseconds / 1000)
        response.headers[.connection] = "close"
        var text = "HTTP/1.1 503 Service Unavailable\r\n"
        for field in response.headers { text += "\(field.name.rawName): \(field.value)\r\n" }
        var bytes = ByteBuffer(string: text + "\r\n")
        bytes.writeBytes(problem.document(basePath: configuration.basePath, instance: id))
        return bytes
    }

    private static func host(of url: String) -> String? {
        let parts = url.split(separator: "/", omittingEmptySubsequences: true)
        return parts.count > 1 ? HostName(parts[1])?.name : nil
    }
}

/// The tasks of all requests that run, so that a shutdown can end them.
final class RunningRequests: Sendable {
    private enum Phase {
        case serving, draining, cancelling
    }

    private struct State {
        var phase = Phase.serving
        var next = 0
        var cancel: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Whether connections end after the present request.
    var isDraining: Bool { state.withLock { $0.phase != .serving } }

    func beginDraining() { state.withLock { if $0.phase == .serving { $0.phase = .draining } } }

    /// Cancels all requests, also those that begin later.
    func cancelAll() {
        let all = state.withLock { state in
            state.phase = .cancelling
            return Array(state.cancel.values)
        }
        for cancel in all { cancel() }
    }

    /// Runs a part of a request in a task that ``cancelAll()`` cancels.
    func run<Value: Sendable>(_ operation: @escaping @Sendable () async -> Value) async -> Value {
        let task = Task { await operation() }
        let (number, isLate) = state.withLock { state in
            state.next += 1
            state.cancel[state.next] = { task.cancel() }
            return (state.next, state.phase == .cancelling)
        }
        defer { state.withLock { _ = $0.cancel.removeValue(forKey: number) } }
        if isLate { task.cancel() }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
