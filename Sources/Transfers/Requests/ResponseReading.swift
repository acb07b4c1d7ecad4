internal import HTTPClient
internal import NIOCore
package import NIOHTTP1
internal import Synchronization

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
