internal import AsyncHTTPClient
internal import Commands
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Synchronization
internal import Work

/// How uploads use the network.
package struct HTTPConfiguration: Sendable, Equatable {
    /// Name lookup, connection and TLS handshake together.
    package var connectTimeout: Duration = .seconds(10)
    /// How long no byte may move either way.
    package var idleTimeout: Duration = .seconds(30)
    /// How long an unused connection is kept: who comes back within it saves the handshake and slow start (2.5 MB at
    /// 20 Mbit/s and 50 ms with bbr take 1.14 s and not 1.32), and most servers keep theirs for a minute or more.
    package var keepAlive: Duration = .seconds(60)
    /// The same for requests that may be sent once only. Below the 5 s after which many servers close theirs: such a request
    /// must not meet a connection that is just being closed, as nobody knows what came of it.
    package var keepAliveOnce: Duration = .seconds(4)
    /// How long a kept connection may take in nothing of a request that may be sent again; then its network is taken for
    /// gone, and another connection for the request.
    package var silence: Duration = .seconds(5)
    /// Connections per scheme, host and port, for requests that may be repeated, and as many for others.
    package var connectionsPerHost = 1024
    /// Pauses before an upload that its destination has locked is asked for again. A server that noticed the end of a
    /// connection unlocks at once; one that did not takes up to 20 s (tusd), and by then others have its place.
    package var lockWaits: [Duration] = [
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4),
    ]
    /// A PEM file of certificates that are trusted besides the system's.
    package var trustRootsFile: String?

    package init() {}
}

/// HTTP for a process. It comes to life with the first request: an idle worker has neither its thread nor
/// its certificates in memory.
final class HTTPTransport: Sendable {
    private struct Engine: Sendable {
        let group: MultiThreadedEventLoopGroup
        let loop: any EventLoop
        let client: HTTPClient
        /// For what may be sent once only.
        let once: HTTPClient
        let board: NIOLoopBoundBox<ConnectionBoard>
    }

    let configuration: HTTPConfiguration
    private let engine = Mutex<Engine?>(nil)

    init(configuration: HTTPConfiguration) { self.configuration = configuration }

    deinit {
        guard let engine = engine.withLock({ $0 }) else { return }
        Task.detached {
            try? await engine.client.shutdown()
            try? await engine.once.shutdown()
            try? await engine.group.shutdownGracefully()
        }
    }

    /// Sends one request and waits for its end. Cancelling the task resets the connection.
    /// - Parameters:
    ///   - start: the offset in its file at which the body starts.
    ///   - size: the offset at which it ends.
    func send(
        _ method: HTTPMethod, _ url: UploadURL, headers: HTTPHeaders, body: HTTPTransfer.Body, from start: Int64 = 0,
        size: Int64, for execution: Execution
    ) async -> HTTPRecord {
        let engine = running()
        let transfer = HTTPTransfer(
            execution: execution, body: body, from: start, size: size, board: engine.board, loop: engine.loop)
        let request: HTTPClient.Request
        do {
            request = try HTTPClient.Request(
                url: url.text, method: method, headers: headers, body: transfer.makeBody())
        } catch {
            var record = HTTPRecord()
            record.error = error
            return record
        }
        // The group has one loop, so everything is on it. Asking for that loop by name would make connections for one use.
        let client = transfer.mayBeSentAgain ? engine.client : engine.once
        let task = client.execute(request: request, delegate: transfer)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                task.futureResult.whenComplete { continuation.resume(returning: transfer.finish($0)) }
            }
        } onCancel: {
            task.fail(reason: CancellationError())
        }
    }

    private func running() -> Engine {
        engine.withLock { engine in
            if let engine { return engine }
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let loop = group.next()
            let board = NIOLoopBoundBox.makeBoxSendingValue(ConnectionBoard(), eventLoop: loop)
            let new = Engine(
                group: group, loop: loop, client: makeClient(group, board, keepAlive: configuration.keepAlive),
                once: makeClient(group, board, keepAlive: configuration.keepAliveOnce), board: board)
            engine = new
            return new
        }
    }

    private func makeClient(
        _ group: MultiThreadedEventLoopGroup, _ board: NIOLoopBoundBox<ConnectionBoard>, keepAlive: Duration
    ) -> HTTPClient {
        var settings = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .init(configuration.connectTimeout)),
            connectionPool: .init(
                idleTimeout: .init(keepAlive),
                concurrentHTTP1ConnectionsPerHostSoftLimit: configuration.connectionsPerHost))
        settings.httpVersion = .http1Only
        // A refused connection is the worker's to retry: it tells everybody that the destination is down.
        settings.connectionPool.retryConnectionEstablishment = false
        if let file = configuration.trustRootsFile {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.additionalTrustRoots = [.file(file)]
            settings.tlsConfiguration = tls
        }
        settings.http1_1ConnectionDebugInitializer = { [configuration] channel in
            channel.eventLoop.makeCompletedFuture {
                try ConnectionWatch.install(in: channel, board: board.value, configuration)
            }
        }
        return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: settings)
    }
}
