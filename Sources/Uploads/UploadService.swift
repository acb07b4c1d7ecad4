package import Commands
package import Store

/// The uploads of a data directory, below all protocols.
///
/// An offset that a call returns is durable. All calls are safe to repeat.
package protocol UploadService: Sendable {
    var limits: UploadLimits { get }
    /// Makes an upload, durable when this returns.
    /// - Parameters:
    ///   - length: bytes in all; nil while the client does not know them.
    ///   - key: nil where the client sent none.
    /// - Returns: the upload, or the one that was made with the same key.
    func create(_ facts: UploadFacts, length: Int64?, key: IdempotencyKey?) async throws(UploadError) -> Upload
    /// Takes an upload of at most ``UploadLimits/maxRowSize`` bytes as a whole.
    /// - Parameter key: as in ``create(_:length:key:)``; other bytes with the same key are a `keyConflict`.
    func store(_ facts: UploadFacts, _ bytes: [UInt8], key: IdempotencyKey?) async throws(UploadError) -> Upload
    /// Makes a complete upload of complete ones, in their order. tus calls them partial and final.
    /// - Parameter key: as in ``create(_:length:key:)``.
    func concatenate(
        _ parts: [CommandID], _ facts: UploadFacts, key: IdempotencyKey?
    ) async throws(UploadError) -> Upload
    /// An upload whose bytes so far are durable. A request that sends bytes to it is stopped: its client may be gone.
    func upload(_ id: CommandID) async throws(UploadError) -> Upload
    /// Takes the bytes of one request. An earlier request to the same upload is stopped first.
    /// - Parameters:
    ///   - progress: called with each offset that becomes durable while the request runs. It must not block.
    ///   - receive: reads the request, and throws where it was cut: what came is kept then. It runs in a task that is
    ///     cancelled when another request takes the upload over.
    /// - Throws: `interrupted` where `receive` threw, with the offset that is durable.
    func append(
        _ request: UploadAppend, to id: CommandID, progress: @escaping @Sendable (Int64) -> Void,
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void
    ) async throws(UploadError) -> Upload
    /// Ends an upload and deletes its bytes. One that has become a command is not terminated: `complete`.
    func terminate(_ id: CommandID) async throws(UploadError)
}
