internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Operations
internal import Synchronization

/// Answers requests for `file:` URLs from the file system (``FileAnswer``), so that operations which read a URL
/// read a file in the same way. Every call runs in the queue of its file system (``BlockingIO``).
struct FileTransport: Sendable {
    private static let step = 1 << 20

    let loop: any EventLoop

    func send(
        _ parts: RequestSender.Parts, _ fields: HTTPHeaders, for execution: CommandExecution
    ) async -> HTTPRecord {
        var record = HTTPRecord()
        do {
            let path = parts.url.filePath
            let source = try await BlockingIO.sources.run(at: path) { try Self.open(path) }
            let answer = FileAnswer(
                method: parts.method, fields, source.identity, type: MediaType.of(fileName: path.lastPathName),
                now: .now)
            (record.mayHaveSent, record.sentAll) = (true, true)
            let head = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status),
                headers: HTTPHeaders(answer.fields.map { ($0.name, $0.value) }))
            record.head = head
            if let reader = parts.reader, (200..<300).contains(answer.status) {
                let reading = ResponseReading(loop: loop, reader: reader)
                try await pass(source, answer.range, to: reading, head, execution, &record)
            } else {
                try await store(source, answer.range, limit: parts.answerLimit, &record)
            }
        } catch {
            record.error = error
        }
        return record
    }

    /// Blocks.
    private static func open(_ path: String) throws -> SourceFile {
        do throws(PayloadError) {
            let source = try SourceFile(path: path, requiringSize: false)
            guard source.statesSize else { throw PayloadError(.source, "\(path) does not state its size") }
            return source
        } catch {
            throw CommandFailure(error.problem == .passing ? .command : .final, reason: error.message)
        }
    }

    /// Puts the start of the body into the record.
    private func store(
        _ source: SourceFile, _ range: Range<Int64>, limit: Int, _ record: inout HTTPRecord
    ) async throws {
        record.bodyBytes = range.count
        record.hasEnough = range.count > HTTPTransfer.maxResponseBody
        let end = min(range.upperBound, range.lowerBound + Int64(limit))
        if range.lowerBound < end { record.body = try await Self.read(source, range.lowerBound..<end) }
        record.isComplete = !record.hasEnough
    }

    /// Hands the body to a reader.
    private func pass(
        _ source: SourceFile, _ range: Range<Int64>, to reading: ResponseReading, _ head: HTTPResponseHead,
        _ execution: CommandExecution, _ record: inout HTTPRecord
    ) async throws {
        let feed = FileBodyFeed(reading, loop: loop)
        try await feed.start(head)
        var (offset, steps) = (range.lowerBound, PacedSteps(execution))
        do {
            while offset < range.upperBound, !feed.isReaderDone {
                try Task.checkCancellation()
                let count = try await steps.next(Int(min(Int64(Self.step), range.upperBound - offset)))
                let bytes = try await Self.read(source, offset..<offset + Int64(count))
                execution.received(count)
                record.bodyBytes += count
                offset += Int64(count)
                await feed.add(bytes)
            }
            try await BlockingIO.sources.run(at: source.path) { try source.requireStart(of: range) }
        } catch {
            _ = await feed.end(error)
            throw error
        }
        record.isComplete = offset == range.upperBound
        if let error = await feed.end(nil) { throw error }
    }

    private static func read(_ source: SourceFile, _ range: Range<Int64>) async throws -> ByteBuffer {
        try await BlockingIO.sources.run(at: source.path) {
            var buffer = ByteBuffer()
            var problem: CommandFailure?
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { bytes in
                do {
                    let count = try source.read(
                        into: UnsafeMutableRawBufferPointer(rebasing: bytes.prefix(range.count)), at: range.lowerBound)
                    if count < range.count {
                        problem = CommandFailure(
                            .command,
                            reason:
                                "\(source.path) was cut to \(range.lowerBound + Int64(count)) bytes while it was read")
                    }
                    return count
                } catch {
                    problem = CommandFailure(.command, reason: "\(source.path) cannot be read: \(error)")
                    return 0
                }
            }
            if let problem { throw problem }
            return buffer
        }
    }
}

extension SourceFile {
    /// Checks that the bytes of a range are still those of the file that was opened. A file that has grown
    /// counts as one to which bytes were appended, because a log would never be read otherwise. Blocks.
    fileprivate func requireStart(of range: Range<Int64>) throws(CommandFailure) {
        let now: SourceIdentity
        do { now = try currentIdentity() } catch {
            throw CommandFailure(.command, reason: "\(path) cannot be examined: \(error)")
        }
        guard let difference = now.difference(from: identity), now.size <= identity.size else { return }
        throw CommandFailure(.command, reason: "\(path) was changed while it was read: \(difference)")
    }
}

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
