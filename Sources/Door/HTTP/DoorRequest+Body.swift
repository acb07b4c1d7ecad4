internal import Commands
internal import HTTPTypes
internal import HummingbirdCore
package import NIOCore

extension DoorRequest {
    /// Reads the whole body, which takes a share of ``memory`` until the request ends.
    /// - Parameters:
    ///   - limit: bytes. A longer body is refused, before any of it is read where its length is announced.
    ///   - weight: bytes of memory for each byte of the body, from 1 on: more than 1 where it is parsed as a whole.
    /// - Throws: ``Problem`` 413; 503 where the bodies of all requests take too much memory; the errors of a body that was
    ///   cut.
    package func collectBody(limit: Int, weight: Int = 1) async throws -> ByteBuffer {
        if let length = fields[.contentLength].flatMap({ Int64($0) }) {
            guard length <= limit else { throw Self.tooLong(limit) }
            try memory.check(Int(length) * weight)
        }
        var collected = ByteBuffer()
        for try await part in body {
            guard collected.readableBytes + part.readableBytes <= limit else { throw Self.tooLong(limit) }
            try memory.take(part.readableBytes * weight)
            collected.writeImmutableBuffer(part)
        }
        return collected
    }

    private static func tooLong(_ limit: Int) -> Problem {
        Problem(
            .contentTooLarge, "too-large", "The body of the request may have \(limit) bytes; send a shorter one.",
            members: [.init("limit", .integer(Int64(limit)))])
    }
}
