package import HTTPTypes
package import NIOCore

/// The answer of a handler.
package struct Response: Sendable {
    package var status: HTTPResponse.Status
    /// `Content-Length` is that of the body, unless it was given: the answer to HEAD has the length of the answer to GET.
    package var headers: HTTPFields
    package var body: Body

    /// - Parameters:
    ///   - headers: default: none.
    ///   - body: default: empty.
    package init(status: HTTPResponse.Status, headers: HTTPFields = [:], body: Body = Body()) {
        (self.status, self.headers, self.body) = (status, headers, body)
        if let length = body.contentLength, headers[.contentLength] == nil {
            self.headers[.contentLength] = String(length)
        }
    }
}

/// Writes the parts of a body. A write returns when the connection has room for the next one.
package protocol ResponseBodyWriter {
    /// - Throws: if the client is gone, or the body has more bytes than it has announced.
    mutating func write(_ buffer: ByteBuffer) async throws
    /// Ends the body.
    /// - Parameter trailers: fields behind a chunked body; nil: none.
    consuming func finish(_ trailers: HTTPFields?) async throws
}

extension Response {
    /// The bytes of a response, which may come for as long as the client listens.
    package struct Body: Sendable {
        /// Nil if it is not known before the end: the body is chunked.
        package let contentLength: Int?
        private let send: @Sendable (any ResponseBodyWriter) async throws -> Void

        /// No bytes.
        package init() { self.init(byteBuffer: ByteBuffer()) }

        package init(byteBuffer buffer: ByteBuffer) {
            contentLength = buffer.readableBytes
            send = { writer in
                var writer = writer
                try await writer.write(buffer)
                try await writer.finish(nil)
            }
        }

        /// A body of unknown length.
        /// - Parameter body: writes its parts. The connection ends it if `body` has not.
        package init(_ body: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void) {
            contentLength = nil
            send = { writer in
                var writer = writer
                try await body(&writer)
            }
        }

        package func write(_ writer: any ResponseBodyWriter) async throws { try await send(writer) }
    }
}

/// The bytes of a request, as they come. The connection reads no more of them than are asked for.
package struct RequestBody: AsyncSequence, Sendable {
    package typealias Element = ByteBuffer

    private let parts: any AsyncSequence<ByteBuffer, any Error> & Sendable

    package init(asyncSequence parts: some AsyncSequence<ByteBuffer, any Error> & Sendable) { self.parts = parts }

    package init(buffer: ByteBuffer) {
        self.init(
            asyncSequence: AsyncThrowingStream { source in
                if buffer.readableBytes > 0 { source.yield(buffer) }
                source.finish()
            })
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: parts.makeAsyncIterator()) }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: any AsyncIteratorProtocol<ByteBuffer, any Error>

        package mutating func next() async throws -> ByteBuffer? { try await base.next(isolation: #isolation) }
    }
}
