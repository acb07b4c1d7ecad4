import Door
import NIOCore

extension DoorRequest {
    /// The first bytes of the body, without a look at its end.
    func bytes(_ count: Int) async throws -> String {
        var collected = ByteBuffer()
        var parts = body.makeAsyncIterator()
        while collected.readableBytes < count, let part = try await parts.next() {
            collected.writeImmutableBuffer(part)
        }
        return String(buffer: collected)
    }

    var bodyText: String { get async throws { String(buffer: try await collectBody(limit: 1 << 20)) } }
}
