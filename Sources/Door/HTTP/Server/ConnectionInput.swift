internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// The requests of one connection, in their order. A body is read by one task at a time.
final class ConnectionInput: Sendable {
    typealias Stream = NIOAsyncChannelInboundStream<HTTPServerRequestPart>

    /// Only the task that took it out of the state uses it.
    private struct Parts: @unchecked Sendable {
        var iterator: Stream.AsyncIterator
    }

    private enum Position {
        case head, body, ended
        case failed(any Error)
    }

    private struct State {
        /// Nil while a task reads.
        var parts: Parts?
        var position = Position.head
        /// Counts requests, so that a body cannot be read after its request.
        var request = 0
        var trailers: HTTPFields?
        var awaitsContinue = false
        /// Bytes of the body that did not come yet; nil where the body does not announce its length.
        var rest: Int64?
    }

    private let state: Mutex<State>
    private let progress: BodyProgress

    init(_ stream: Stream, progress: BodyProgress) {
        state = Mutex(State(parts: Parts(iterator: stream.makeAsyncIterator())))
        self.progress = progress
    }

    /// Whether a part of the present body was not read.
    var hasUnreadBody: Bool {
        state.withLock { if case .body = $0.position { $0.rest != 0 } else { false } }
    }
    /// Why nothing can be read any more; nil where it can.
    var failure: (any Error)? { state.withLock { if case .failed(let error) = $0.position { error } else { nil } } }
    var awaitsContinue: Bool { state.withLock { $0.awaitsContinue } }
    func trailers(of request: Int) -> HTTPFields? { state.withLock { $0.request == request ? $0.trailers : nil } }

    /// Waits for the next request.
    /// - Returns: nil at the end of the connection.
    func nextHead() async throws -> HTTPRequestHead? {
        while let part = try await nextPart() {
            switch part {
            case .head(let head): return head
            // The handler read no further than to the last byte.
            case .end: continue
            case .body: throw ConnectionError.misusedBody
            }
        }
        return nil
    }

    /// - Returns: the number of the request, for its body.
    func beginBody(_ head: RequestHead) -> Int {
        progress.begin()
        return state.withLock { state in
            state.request += 1
            state.trailers = nil
            state.awaitsContinue = head.awaitsContinue && head.hasBody
            state.position = .body
            state.rest = head.length
            return state.request
        }
    }

    /// - Parameter sendContinue: tells the client to send the body, if it waits for that.
    /// - Returns: nil at the end of the body, and never where the body was cut.
    func nextBytes(of request: Int, sendContinue: () async throws -> Void) async throws -> ByteBuffer? {
        let isAwaited = try state.withLock { state throws(ConnectionError) -> Bool? in
            guard state.request == request else { throw .misusedBody }
            if case .ended = state.position { return nil }
            defer { state.awaitsContinue = false }
            return state.awaitsContinue
        }
        guard let isAwaited else { return nil }
        if isAwaited { try await sendContinue() }
        progress.beginWait()
        var count = 0
        defer { progress.endWait(bytes: count) }
        switch try await nextPart() {
        case .body(let buffer):
            count = buffer.readableBytes
            state.withLock { [count] in $0.rest? -= Int64(count) }
            return buffer
        case .end(let trailers):
            let fields = trailers.map { HTTPFields($0) }
            state.withLock { ($0.position, $0.trailers) = (.ended, fields) }
            return nil
        case .head, nil:
            // The stream ends without an error where the task was cancelled.
            let error: any Error = Task.isCancelled ? CancellationError() : ConnectionError.cut
            state.withLock { $0.position = .failed(error) }
            throw error
        }
    }

    /// Reads the rest of the body and drops it.
    /// - Returns: false where it is longer than `limit`, or was cut.
    func drain(limit: Int) async -> Bool {
        var rest = limit
        while rest >= 0 {
            guard case .body = state.withLock({ $0.position }) else { return failure == nil }
            do {
                switch try await nextPart() {
                case .body(let buffer): rest -= buffer.readableBytes
                case .end: state.withLock { $0.position = .ended }
                case .head, nil: return false
                }
            } catch {
                return false
            }
        }
        return false
    }

    private func nextPart() async throws -> HTTPServerRequestPart? {
        let taken = try state.withLock { state throws -> Parts in
            if case .failed(let error) = state.position { throw error }
            guard let parts = state.parts else { throw ConnectionError.misusedBody }
            state.parts = nil
            return parts
        }
        var parts = taken
        do {
            let part = try await parts.iterator.next()
            let returned = parts
            state.withLock { $0.parts = returned }
            return part
        } catch {
            let error = Self.failure(error)
            state.withLock { $0.position = .failed(error) }
            throw error
        }
    }

    /// A reset, an end without a farewell of TLS, and an end within a request are the same to a handler.
    private static func failure(_ error: any Error) -> any Error {
        switch error {
        case HTTPParserError.invalidEOFState: ConnectionError.cut
        case is HTTPParserError, is ConnectionError, is CancellationError: error
        default: ConnectionError.cut
        }
    }
}

extension HTTPFields {
    /// Names and values that are not valid are left out.
    fileprivate init(_ headers: HTTPHeaders) {
        self.init()
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
        }
    }
}

/// The body of one request, as it arrives.
struct RequestBytes: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let input: ConnectionInput
    let request: Int
    let sendContinue: @Sendable () async throws -> Void

    struct AsyncIterator: AsyncIteratorProtocol {
        let bytes: RequestBytes

        mutating func next() async throws -> ByteBuffer? {
            try await bytes.input.nextBytes(of: bytes.request, sendContinue: bytes.sendContinue)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: self) }
}
