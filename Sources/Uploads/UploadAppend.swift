package import Commands
internal import Store

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
