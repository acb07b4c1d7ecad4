package import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// The HTTP/1.1 client of a process, on one event loop. It starts with the first request, so an idle process
/// has neither its thread nor its certificates in memory.
package final class HTTPClient: Sendable {
    private struct Engine: Sendable {
        let group: MultiThreadedEventLoopGroup
        let loop: any EventLoop
        let pool: NIOLoopBoundBox<ConnectionPool>
    }

    package let configuration: HTTPClientConfiguration
    private let engine = Mutex<Engine?>(nil)

    package init(configuration: HTTPClientConfiguration) { self.configuration = configuration }

    deinit {
        guard let engine = engine.withLock({ $0 }) else { return }
        engine.loop.execute { engine.pool.value.close() }
        engine.group.shutdownGracefully { _ in }
    }

    /// The event loop on which the methods of every exchange are called.
    package var loop: any EventLoop { running().loop }

    /// Prepares an exchange, which begins with ``HTTPCall/start()``.
    package func call(_ request: HTTPRequest, _ exchange: any HTTPExchange & Sendable) -> HTTPCall {
        let engine = running()
        return HTTPCall(request, exchange, loop: engine.loop, pool: engine.pool)
    }

    private func running() -> Engine {
        engine.withLock { engine in
            if let engine { return engine }
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let loop = group.next()
            let connector = Connector(loop: loop, configuration: configuration, resolver: NameResolver())
            let pool = ConnectionPool(loop: loop, configuration: configuration, connector: connector)
            let new = Engine(group: group, loop: loop, pool: .makeBoxSendingValue(pool, eventLoop: loop))
            engine = new
            return new
        }
    }
}

extension HTTPClient {
    /// Sends a request with a small body, and waits for its response without a thread. Cancelling the task resets the
    /// connection. Redirects are not followed.
    /// - Parameters:
    ///   - body: ``HTTPRequest/bodyLength`` is set to its size.
    ///   - maxAnswer: bytes of the response's body that are stored. The rest is not read (``HTTPRecord/hasEnough``).
    package func send(_ request: HTTPRequest, body: [UInt8], maxAnswer: Int) async -> HTTPRecord {
        var request = request
        request.bodyLength = Int64(body.count)
        let pending = Mutex<HTTPCall?>(nil)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let exchange = ShortExchange(body: ByteBuffer(bytes: body), maxAnswer: maxAnswer) {
                    continuation.resume(returning: $0)
                }
                let call = self.call(request, exchange)
                pending.withLock { $0 = call }
                call.start()
                // The task may have been cancelled before there was a call.
                if Task.isCancelled { call.cancel() }
            }
        } onCancel: {
            pending.withLock { $0 }?.cancel()
        }
    }

    /// As ``send(_:body:maxAnswer:)``, and stops the request after a time.
    /// - Returns: nil where the time has passed before the end of the response.
    package func send(
        _ request: HTTPRequest, body: [UInt8], maxAnswer: Int, within limit: Duration
    ) async -> HTTPRecord? {
        await withTaskGroup(of: HTTPRecord?.self) { group in
            group.addTask { await self.send(request, body: body, maxAnswer: maxAnswer) }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}

/// A request whose body is in memory, and the start of its response.
///
/// `@unchecked Sendable`: after `init` all members are used on the event loop of the client only.
private final class ShortExchange: HTTPExchange, @unchecked Sendable {
    private let maxAnswer: Int
    private let completion: @Sendable (HTTPRecord) -> Void
    private var body: ByteBuffer?
    private var record = HTTPRecord()
    private var connection: HTTPConnection?

    init(body: ByteBuffer, maxAnswer: Int, completion: @escaping @Sendable (HTTPRecord) -> Void) {
        self.body = body
        self.maxAnswer = maxAnswer
        self.completion = completion
    }

    var isHeldBack: Bool { false }
    var isLowPriority: Bool { false }
    var isRepeatable: Bool { false }

    func began(on connection: HTTPConnection) {
        record.mayHaveSent = true
        record.usedKeptConnection = connection.isKept
        self.connection = connection
        // The connection ends an empty body by itself.
        if body?.readableBytes == 0 { body = nil }
    }

    func writeBody() {
        guard let body, let connection else { return }
        self.body = nil
        record.sentBytes = Int64(body.readableBytes)
        connection.write(body)
        record.sentAll = true
        connection.endBody()
    }

    func received(head: HTTPResponseHead) { record.head = head }

    func received(body bytes: ByteBuffer) -> ReadDecision {
        record.bodyBytes += bytes.readableBytes
        let room = maxAnswer - record.body.readableBytes
        record.body.writeImmutableBuffer(bytes.getSlice(at: bytes.readerIndex, length: min(room, bytes.readableBytes))!)
        record.hasEnough = record.bodyBytes > maxAnswer
        return record.hasEnough ? .enough : .more
    }

    func measured(_ now: TCPInfo, since before: TCPInfo) {}

    func ended(_ end: HTTPExchangeEnd) {
        record.keptConnectionEnded = end.keptConnectionEnded
        record.isComplete = end.error == nil
        if !record.hasEnough { record.error = end.error }
        connection = nil
        completion(record)
    }
}
