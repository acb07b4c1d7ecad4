internal import Commands
internal import HTTPClient
package import NIOCore
package import NIOHTTP1
internal import Synchronization

/// The body of a response, for one reader. While the reader is busy, at most ``limit`` bytes wait for it;
/// then the connection reads no more, so that the peer's window closes.
///
/// `@unchecked Sendable`: all members are used on the event loop only, but for ``decoder`` and ``codingFailure``, which
/// are set before the reader begins, and then used by it only.
package final class ResponseBody: @unchecked Sendable {
    private let loop: any EventLoop
    private var chunks: [ByteBuffer] = []
    private var waitingBytes = 0
    private var end: Result<Void, any Error>?
    private var waiter: CheckedContinuation<[ByteBuffer]?, any Error>?
    /// Takes the content coding off; nil: the bytes are handed over as they came.
    var decoder: ContentDecoder?
    /// Why the body cannot be read.
    var codingFailure: CommandFailure?
    /// Called when a reader that was busy has taken all bytes.
    var whenTaken: () -> Void = {}

    /// Bytes that wait for the reader at most, beside those of one read of the socket.
    static let limit = 256 << 10

    init(loop: any EventLoop) { self.loop = loop }

    /// The bytes that have arrived since the last call; waits for some.
    /// - Returns: nil at the end of the whole body.
    /// - Throws: the error that ended the response; ``CommandFailure`` where its content coding cannot be taken off.
    package func next() async throws -> [ByteBuffer]? {
        if let codingFailure { throw codingFailure }
        guard let decoder else { return try await received() }
        while true {
            if let piece = try decoder.next() { return [piece] }
            guard let chunks = try await received() else {
                try decoder.finish()
                return nil
            }
            for chunk in chunks { decoder.feed(chunk) }
        }
    }

    private func received() async throws -> [ByteBuffer]? {
        try await withCheckedThrowingContinuation { continuation in
            loop.execute { self.take(continuation) }
        }
    }

    private func take(_ continuation: CheckedContinuation<[ByteBuffer]?, any Error>) {
        if !chunks.isEmpty {
            let taken = chunks
            (chunks, waitingBytes) = ([], 0)
            continuation.resume(returning: taken)
            whenTaken()
        } else if let end {
            continuation.resume(with: end.map { nil })
        } else {
            waiter = continuation
        }
    }

    // MARK: On the loop

    /// - Returns: whether the reader is behind, so that no more should be read.
    func add(_ bytes: ByteBuffer) -> Bool {
        if let waiter {
            self.waiter = nil
            waiter.resume(returning: [bytes])
            return false
        }
        chunks.append(bytes)
        waitingBytes += bytes.readableBytes
        return waitingBytes >= Self.limit
    }

    /// - Parameter error: nil where the body is complete.
    func finish(_ error: (any Error)?) {
        guard end == nil else { return }
        let end: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
        self.end = end
        whenTaken = {}
        waiter?.resume(with: end.map { nil })
        waiter = nil
    }
}

/// Reads the body of a successful response (2xx). The request is over when it returns; where bytes are left
/// then, the connection is closed.
package typealias ResponseReader = @Sendable (_ head: HTTPResponseHead, _ body: ResponseBody) async throws -> Void

/// A ``ResponseReader`` and the body that it reads.
///
/// The reader is released before ``ended()`` returns, although the exchange may last a little longer: what it holds, such as
/// the lock of a part file, ends with its execution.
///
/// `@unchecked Sendable`: ``task`` is set on the event loop before the exchange ends, and read after.
final class ResponseReading: @unchecked Sendable {
    let body: ResponseBody
    private let loop: any EventLoop
    /// Nil once it has started, or the response has ended.
    private let reader: Mutex<ResponseReader?>
    private var task: Task<Void, any Error>?

    init(loop: any EventLoop, reader: @escaping ResponseReader) {
        self.loop = loop
        self.reader = Mutex(reader)
        body = ResponseBody(loop: loop)
    }

    /// Starts the reader.
    /// - Parameter whenDone: called on the loop when it has returned.
    func start(_ head: HTTPResponseHead, whenDone: @escaping @Sendable () -> Void) {
        guard let reader = reader.withLock({ $0.take() }) else { return }
        let (body, loop) = (body, loop)
        task = Task {
            defer { loop.execute(whenDone) }
            try await reader(head, body)
        }
    }

    /// Waits for the end of the reader, and cancels it with the current task.
    /// - Returns: its error, unless it passes on the error of the exchange.
    func ended() async -> (any Error)? {
        reader.withLock { $0 = nil }
        guard let task else { return nil }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        switch result {
        case .success: return nil
        case .failure(is HTTPError): return nil
        case .failure(let error): return error
        }
    }
}
