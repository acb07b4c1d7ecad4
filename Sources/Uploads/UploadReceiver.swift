package import Commands
internal import Store

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
