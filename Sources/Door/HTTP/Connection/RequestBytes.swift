internal import NIOCore

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
