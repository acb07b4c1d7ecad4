package import Commands
internal import Store
package import UploadSpool

/// The uploads of a data directory, below all protocols.
///
/// An offset that a call returns is durable. All calls are safe to repeat. Each throws `unavailable` where the same call
/// may succeed later, and `failed` where the store or the disk fails.
package protocol UploadService: Sendable {
    /// The bounds that every upload has. A route may set lower ones.
    var limits: UploadLimits { get }
    /// The time of the clock that the times of uploads are of.
    var now: Timestamp { get }
    /// Makes an upload, durable when this returns.
    /// - Parameters:
    ///   - length: bytes in all; nil while the client does not know them.
    ///   - key: nil where the client sent none.
    /// - Returns: the upload, or the one that was made with the same key. Bytes of the request go to it by an append that
    ///   ``UploadAppend/isRepeat``.
    /// - Throws: `tooLarge`, `noSpace`, `tooMany`, `invalid` where the route does not take it, and `keyInUse` or `keyConflict`.
    func create(_ facts: UploadFacts, length: Int64?, key: IdempotencyKey?) async throws(UploadError) -> Upload
    /// Takes an upload of at most ``UploadLimits/maxRowSize`` bytes as a whole.
    /// - Parameter key: as in ``create(_:length:key:)``; other bytes with the same key are a `keyConflict`.
    /// - Returns: the upload, complete, with the command that it has become.
    /// - Throws: as ``create(_:length:key:)``; `digestMismatch` where the bytes do not have the stated digest.
    func store(_ facts: UploadFacts, _ bytes: [UInt8], key: IdempotencyKey?) async throws(UploadError) -> Upload
    /// Makes a complete upload of complete ones, in their order. tus calls them partial and final.
    /// - Parameters:
    ///   - parts: their ids, 1 to 1000 different ones.
    ///   - key: as in ``create(_:length:key:)``. Without one, the parts and the properties are the key.
    /// - Throws: as ``create(_:length:key:)``; `notFound`, `gone` or `unfinishedPart` for a part that cannot be used.
    func concatenate(
        _ parts: [CommandID], _ facts: UploadFacts, key: IdempotencyKey?
    ) async throws(UploadError) -> Upload
    /// An upload whose bytes so far are durable. A request that sends bytes to it is stopped: its client may be gone.
    /// - Throws: `notFound`, or `gone` where it has ended.
    func upload(_ id: CommandID) async throws(UploadError) -> Upload
    /// Takes the bytes of one request. An earlier request to the same upload is stopped first.
    /// - Parameters:
    ///   - admits: gets the upload, once more where an earlier request was stopped since, and says whether this request may
    ///     go on. Otherwise nothing is stopped or read, and the upload is returned as it is.
    ///   - progress: called with each offset that becomes durable while the request runs. It must not block.
    ///   - receive: reads the request, and throws where it was cut: what came is kept then. It runs in a task that is
    ///     cancelled when another request takes the upload over.
    /// - Returns: the upload with its new offset; complete with its last byte.
    /// - Throws: `interrupted` where `receive` threw, with the offset that is durable; `offsetMismatch`, `tooLarge`,
    ///   `complete`, `noSpace`, `checksumMismatch` or `digestMismatch` for other bytes than the client has stated,
    ///   `inconsistentStatement`, and `keyConflict` for a repeat whose bytes are not those of the upload.
    func append(
        _ request: UploadAppend, to id: CommandID, admits: @Sendable (Upload) -> Bool,
        progress: @escaping @Sendable (Int64) -> Void,
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void
    ) async throws(UploadError) -> Upload
    /// Ends an upload and deletes its bytes.
    /// - Throws: `notFound`; `gone` where it has ended; `complete` where it has become a command, which has its own end.
    func terminate(_ id: CommandID) async throws(UploadError)
}

/// Takes the bytes of one request. The body of ``UploadService/append(_:to:admits:progress:_:)`` uses it, one call after the other.
package protocol UploadReceiver: AnyObject {
    /// Adds bytes. Call ``flush()`` after each.
    func add(_ bytes: UnsafeRawBufferPointer)
    /// Waits while more bytes are on their way to the disk than the door keeps in memory.
    /// - Throws: ``UploadError`` where the bytes cannot be taken; read no more of the request then.
    func flush() async throws(UploadError)
    /// The digest that the client sent after the bytes, in a trailer.
    func setChecksum(_ checksum: UploadDigest)
}

/// The statements of a request that sends bytes to an upload.
package struct UploadAppend: Sendable, Equatable {
    /// Where its bytes begin.
    package var offset: Int64
    /// Whether the request repeats the creation of the upload under its idempotency key, from its first byte on: bytes that
    /// the upload has are compared, and not written. ``offset`` is 0 then.
    package var isRepeat = false
    /// Bytes of the request, as it announced them; nil for chunked ones. Fewer count as a cut request.
    package var size: Int64?
    /// The length of the whole upload, where this request states it.
    package var length: Int64?
    /// The `Upload-Metadata` that this request states; nil for most.
    package var metadata: String?
    /// The digest of the whole upload that this request states; nil for most.
    package var digest: UploadDigest?
    /// The event that completes the upload.
    package var completion: Completion
    /// The digest of the bytes of this request: the offset moves only if they have it.
    package var checksum: UploadDigest?
    /// Whether the digest comes after the bytes, in a trailer.
    package var hasTrailingChecksum = false

    package enum Completion: Sendable, Equatable {
        /// The offset reaches the length, as in tus.
        case atLength
        /// The end of this request, which is the last.
        case atEnd
        /// A later request, even if the offset has reached the length.
        case later
    }

    package init(offset: Int64, size: Int64?, completion: Completion) {
        self.offset = offset
        self.size = size
        self.completion = completion
    }
}

/// The `Idempotency-Key` of a request that creates an upload: the same request again returns the same upload.
/// Source: draft-ietf-httpapi-idempotency-key-header-07 (expired 2026-04-18).
package struct IdempotencyKey: Sendable, Hashable {
    /// 1 to 255 bytes, unique for the token.
    package var value: String
    /// Names the token, so that clients do not share keys.
    package var token: String

    package init(value: String, token: String) {
        self.value = value
        self.token = token
    }
}
