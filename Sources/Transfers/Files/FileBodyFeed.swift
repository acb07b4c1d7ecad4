internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Hands the bytes of a file to the reader of a response, no faster than it takes them.
final class FileBodyFeed: Sendable {
    private struct State {
        var waiter: CheckedContinuation<Void, Never>?
        /// The reader has returned, or the request is stopped.
        var isOver = false
    }

    private let reading: ResponseReading
    private let loop: any EventLoop
    private let state = Mutex(State())

    init(_ reading: ResponseReading, loop: any EventLoop) {
        self.reading = reading
        self.loop = loop
    }

    /// Whether the reader needs no more bytes.
    var isReaderDone: Bool { state.withLock { $0.isOver } }

    /// Starts the reader.
    func start(_ head: HTTPResponseHead) async throws {
        let (reading, feed) = (reading, self)
        try await loop.submit { reading.start(head) { feed.stop() } }.get()
    }

    /// Returns when the reader can take more bytes, has returned, or the task is cancelled.
    func add(_ bytes: ByteBuffer) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.execute { [self] in
                    guard reading.body.add(bytes) else {
                        continuation.resume()
                        return
                    }
                    reading.body.whenTaken = { [weak self] in self?.resume() }
                    wait(continuation)
                }
            }
        } onCancel: {
            stop()
        }
    }

    /// Ends the body, and waits for the reader.
    /// - Parameter error: why the body is not whole; nil where it is, or the reader has enough.
    /// - Returns: the error of the reader.
    func end(_ error: (any Error)?) async -> (any Error)? {
        let body = reading.body
        loop.execute { body.finish(error) }
        return await reading.ended()
    }

    private func wait(_ continuation: CheckedContinuation<Void, Never>) {
        let isOver = state.withLock { state in
            if !state.isOver { state.waiter = continuation }
            return state.isOver
        }
        if isOver { continuation.resume() }
    }

    private func resume() {
        state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }?.resume()
    }

    private func stop() {
        state.withLock { $0.isOver = true }
        resume()
    }
}
