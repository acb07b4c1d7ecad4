/// An upload session: bytes that a client sends to the door, or has sent. It lies in the shard of the command that
/// it becomes, and that command has its id.
package struct Upload: Sendable, Equatable {
    package let id: CommandID
    package var state = UploadState.open
    /// Bytes from the start that are durable. A response states no greater offset. It never decreases.
    package var offset: Int64 = 0
    /// Bytes in all; nil while they are not known.
    package var length: Int64?
    package var facts: UploadFacts
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// When the row is due: an open upload expires, a complete one is looked at again, the row of an ended one is
    /// deleted. Nil: never.
    package var due: Timestamp?
    /// The command or flow that it became: mostly ``id``, another where that one holds its unique key. Nil while it is
    /// open, and without a route.
    package var command: CommandID?
    /// Where its bytes are.
    package var storage = Storage.none
    /// Why it has ended, in a sentence.
    package var reason: String?
    /// The idempotency key of its creation, unique in the store; nil without one.
    package var idempotencyKey: String?
    /// Of the creation with that key, and of its bytes.
    package var fingerprint: UploadFingerprint?

    /// The raw values are part of the store.
    package enum Storage: Int, Sendable {
        /// Nowhere: it has none, or they were deleted.
        case none = 0
        /// `spool/<id>`
        case file = 1
        /// In the shard.
        case row = 2
    }

    package init(id: CommandID, length: Int64?, facts: UploadFacts, createdAt: Timestamp) {
        self.id = id
        self.length = length
        self.facts = facts
        self.createdAt = createdAt
        updatedAt = createdAt
    }
}

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
    package var bytes: [UInt8] { statement + (content ?? []) }

    /// Reads ``bytes`` back. Nil for another number of bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size || bytes.count == 2 * Self.size else { return nil }
        statement = Array(bytes[..<Self.size])
        content = bytes.count == Self.size ? nil : Array(bytes[Self.size...])
    }
}

/// Where an upload stands. The raw values are part of the store.
package enum UploadState: Int, Sendable, CaseIterable {
    /// It takes bytes.
    case open = 0
    /// All bytes are durable. With a route, its command is in the store.
    case complete = 1
    /// It was terminated, has expired, or cannot be completed. Its bytes are deleted.
    case ended = 2
}
