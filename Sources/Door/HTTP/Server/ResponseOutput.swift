internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Writes the response of one request.
final class ResponseOutput: Sendable {
    typealias Part = HTTPPart<HTTPResponseHead, ByteBuffer>
    typealias Writer = NIOAsyncChannelOutboundWriter<Part>

    private struct State {
        /// Sent with the first bytes of the body: one system call instead of two.
        var head: HTTPResponseHead?
        var hasBegun = false
        var hasEnded = false
        /// Bytes that the head announced and that were not written; nil where it announced none.
        var rest: Int?
    }

    private let writer: Writer
    private let takesInterim: Bool
    private let state = Mutex(State())

    /// - Parameter takesInterim: false for HTTP/1.0.
    init(_ writer: Writer, takesInterim: Bool) {
        self.writer = writer
        self.takesInterim = takesInterim
    }

    /// Sends a response before the final one. After the final one has begun, it is dropped.
    func sendInterim(_ status: HTTPResponse.Status, _ fields: HTTPFields) async throws {
        guard takesInterim, (100..<200).contains(status.code), status != .switchingProtocols,
            !state.withLock({ $0.hasBegun })
        else { return }
        do {
            try await writer.write(.head(Self.head(status, fields)))
        } catch {
            throw ConnectionError.cut
        }
    }

    /// - Parameters:
    ///   - isHead: whether the request is HEAD: the body is not sent.
    ///   - isHTTP10: whether a body of unknown length ends with the connection.
    func send(_ response: Response, isHead: Bool, isHTTP10: Bool) async throws {
        let hasBody = response.status.code >= 200 && response.status != .noContent && response.status != .notModified
        var fields = response.headers
        fields[.transferEncoding] = nil
        let length = response.body.contentLength
        if !hasBody {
            fields[.contentLength] = nil
        } else if !isHead {
            fields[.contentLength] = length.map(String.init)
            if length == nil, !isHTTP10 { fields[.transferEncoding] = "chunked" }
        }
        let head = Self.head(response.status, fields)
        guard hasBody, !isHead else {
            state.withLock { ($0.hasBegun, $0.hasEnded) = (true, true) }
            try await writer.write(contentsOf: [.head(head), .end(nil)])
            return
        }
        state.withLock { state in
            (state.hasBegun, state.rest) = (true, length)
            if length != nil { state.head = head }
        }
        if length == nil { try await writer.write(.head(head)) }
        try await response.body.write(BodyWriter(output: self))
        try await end(nil)
    }

    fileprivate func write(_ buffer: ByteBuffer) async throws {
        let parts = try state.withLock { state throws(ConnectionError) -> [Part] in
            guard !state.hasEnded else { throw .wrongLength }
            var parts: [Part] = []
            if let head = state.head.take() { parts.append(.head(head)) }
            if buffer.readableBytes > 0 { parts.append(.body(buffer)) }
            guard let rest = state.rest else { return parts }
            guard rest >= buffer.readableBytes else { throw .wrongLength }
            state.rest = rest - buffer.readableBytes
            if rest == buffer.readableBytes {
                state.hasEnded = true
                parts.append(.end(nil))
            }
            return parts
        }
        if !parts.isEmpty { try await writer.write(contentsOf: parts) }
    }

    fileprivate func end(_ trailers: HTTPFields?) async throws {
        let parts = try state.withLock { state throws(ConnectionError) -> [Part] in
            guard !state.hasEnded else { return [] }
            guard state.rest ?? 0 == 0 else { throw .wrongLength }
            state.hasEnded = true
            let end = Part.end(trailers.map { HTTPHeaders($0.map { ($0.name.rawName, $0.value) }) })
            return (state.head.take().map { [.head($0)] } ?? []) + [end]
        }
        if !parts.isEmpty { try await writer.write(contentsOf: parts) }
    }

    private static func head(_ status: HTTPResponse.Status, _ fields: HTTPFields) -> HTTPResponseHead {
        HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: status.code, reasonPhrase: status.reasonPhrase),
            headers: HTTPHeaders(fields.map { ($0.name.rawName, $0.value) }))
    }

    private struct BodyWriter: ResponseBodyWriter {
        let output: ResponseOutput

        mutating func write(_ buffer: ByteBuffer) async throws { try await output.write(buffer) }
        consuming func finish(_ trailers: HTTPFields?) async throws { try await output.end(trailers) }
    }
}
