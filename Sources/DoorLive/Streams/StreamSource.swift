internal import NIOCore

/// The contents of a stream.
protocol StreamSource: Sendable {
    /// The frames that are ready; nil: none until the stream is woken.
    mutating func next() async throws -> [ByteBuffer]?
    /// A frame without data for a stream that was quiet.
    var keepAlive: ByteBuffer { get }
}
