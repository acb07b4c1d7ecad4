internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization
internal import Transfers

/// One request of a fetch, and its answer.
final class FetchReception: Sendable {
    let body: ReceivedBody
    let url: ResourceURL
    private let maxBytes: Int64

    private struct State {
        var facts: FetchExchange
        var failure: (any Error)?
        /// The body could not be taken: it is too long, or the disk is full.
        var bodyError: (any Error)?
        var hasRead = false
        /// The content coding that was taken off the body.
        var decoded: String?
        /// All of the body was kept; false: only its start.
        var isBodyKept = true
    }

    private let state: Mutex<State>

    init(_ question: ConditionalRequest, _ body: ReceivedBody, _ url: ResourceURL, maxBytes: Int64) {
        self.body = body
        self.url = url
        self.maxBytes = maxBytes
        state = Mutex(
            State(facts: FetchExchange(asked: question, requestedAt: .now, respondedAt: .now, head: ResponseHead(0))))
    }

    var facts: FetchExchange { state.withLock { $0.facts } }
    var isBodyKept: Bool { state.withLock { $0.isBodyKept } }
    /// The content coding that was taken off the body.
    var decoded: String? { state.withLock { $0.decoded } }
    /// The failure that the answer means; nil for success.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Reads the body of a success.
    func read(_ head: HTTPResponseHead, _ chunks: ResponseBody) async throws {
        state.withLock { state in
            state.facts.respondedAt = .now
            state.hasRead = true
        }
        do {
            while let next = try await chunks.next() {
                guard body.count + Int64(next.reduce(0) { $0 + $1.readableBytes }) <= maxBytes else {
                    throw CommandFailure(
                        .final,
                        reason: "\(url.displayText) has more than \(maxBytes) bytes; raise “maxBody”, or download it")
                }
                try await append(next)
            }
        } catch let error as HTTPError {
            throw error
        } catch {
            state.withLock { $0.bodyError = error }
        }
    }

    private func append(_ chunks: [ByteBuffer]) async throws {
        let body = body
        try await BlockingIO.copies.run(at: body.path) {
            do { try body.append(chunks) } catch {
                throw CommandFailure(
                    .command, reason: "cannot store a response: \(error.words)", retryAfter: .seconds(60))
            }
        }
    }

    /// Takes in the end of the request.
    /// - Throws: where there is no answer, or its body could not be taken.
    func take(_ record: HTTPRecord, _ id: CommandID, _ failure: (any Error)?) async throws {
        let (bodyError, hasRead) = state.withLock { ($0.bodyError, $0.hasRead) }
        if let bodyError { throw bodyError }
        if record.error is CancellationError { throw CancellationError() }
        guard let head = record.head else {
            throw failure ?? CommandFailure.stopped("the fetch of \(url.displayText)")
        }
        // The body of an error or a redirect is kept up to 64 KiB, and not read without end.
        let isComplete = record.isComplete || !hasRead && record.hasEnough
        if !hasRead { try await append([record.body]) }
        let cut = CommandFailure(.reset, reason: "the body of GET \(url.displayText) was cut off")
        state.withLock { state in
            if !hasRead { state.facts.respondedAt = .now }
            // The response is kept without its coding, so that these fields would be untrue of it.
            let fields = HeaderFields(head.headers)
            state.decoded = record.decoded
            state.facts.head = ResponseHead(
                status: Int(head.status.code),
                headers: record.decoded == nil ? fields : fields.removing(["content-encoding", "content-length"]))
            state.facts.isComplete = isComplete
            state.facts.bytes = body.count
            state.facts.sha256 = body.sha256
            state.facts.command = id
            state.isBodyKept =
                hasRead || record.bodyBytes == record.body.readableBytes && record.codingFailure == nil
            state.failure = failure ?? (isComplete ? nil : cut)
        }
    }
}
