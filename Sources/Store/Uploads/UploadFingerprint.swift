/// The digests with which a later request under the idempotency key of an upload is compared. They are kept as long as the
/// key.
package struct UploadFingerprint: Sendable, Equatable {
    /// Bytes of a SHA-256.
    private static let size = 32

    /// SHA-256 of what the creation stated.
    package let statement: [UInt8]
    /// SHA-256 of all bytes of the upload; nil until it has them.
    package var content: [UInt8]?

    /// - Parameters:
    ///   - statement: 32 bytes.
    ///   - content: 32 bytes.
    package init(statement: [UInt8], content: [UInt8]? = nil) {
        precondition(statement.count == Self.size && content?.count ?? Self.size == Self.size)
        self.statement = statement
        self.content = content
    }

    /// As the store keeps it.
    var bytes: [UInt8] { statement + (content ?? []) }

    /// Reads ``bytes`` back. Nil for another number of bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size || bytes.count == 2 * Self.size else { return nil }
        statement = Array(bytes[..<Self.size])
        content = bytes.count == Self.size ? nil : Array(bytes[Self.size...])
    }
}
