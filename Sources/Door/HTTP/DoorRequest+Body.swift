internal import Commands
internal import HTTPTypes
internal import HummingbirdCore
package import NIOCore

extension DoorRequest {
    /// Reads the whole body.
    /// - Parameter limit: bytes. A longer body is refused, before any of it is read where its length is announced.
    /// - Throws: ``Problem`` 413, and the errors of a body that was cut.
    package func collectBody(limit: Int) async throws -> ByteBuffer {
        if let length = fields[.contentLength].flatMap({ Int64($0) }), length > limit { throw Self.tooLong(limit) }
        var collected = ByteBuffer()
        for try await part in body {
            guard collected.readableBytes + part.readableBytes <= limit else { throw Self.tooLong(limit) }
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
