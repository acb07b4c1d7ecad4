internal import HTTPTypes

/// The field names of the upload protocols.
extension HTTPField.Name {
    // tus 1.0.
    static let tusResumable = HTTPField.Name("Tus-Resumable")!
    static let tusVersion = HTTPField.Name("Tus-Version")!
    static let tusExtension = HTTPField.Name("Tus-Extension")!
    static let tusMaxSize = HTTPField.Name("Tus-Max-Size")!
    static let tusChecksumAlgorithm = HTTPField.Name("Tus-Checksum-Algorithm")!
    static let uploadMetadata = HTTPField.Name("Upload-Metadata")!
    static let uploadDeferLength = HTTPField.Name("Upload-Defer-Length")!
    static let uploadExpires = HTTPField.Name("Upload-Expires")!
    static let uploadChecksum = HTTPField.Name("Upload-Checksum")!
    static let uploadConcat = HTTPField.Name("Upload-Concat")!
    // tus and the draft of the IETF.
    static let uploadOffset = HTTPField.Name("Upload-Offset")!
    static let uploadLength = HTTPField.Name("Upload-Length")!
    // Resumable Uploads for HTTP.
    static let uploadComplete = HTTPField.Name("Upload-Complete")!
    static let uploadIncomplete = HTTPField.Name("Upload-Incomplete")!
    static let uploadLimit = HTTPField.Name("Upload-Limit")!
    static let uploadDraftInteropVersion = HTTPField.Name("Upload-Draft-Interop-Version")!
    static let acceptPatch = HTTPField.Name("Accept-Patch")!
    // RFC 9530, and others.
    static let contentDigest = HTTPField.Name("Content-Digest")!
    static let reprDigest = HTTPField.Name("Repr-Digest")!
    static let wantReprDigest = HTTPField.Name("Want-Repr-Digest")!
    static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
    /// The command that an upload has become.
    static let sluiceCommandID = HTTPField.Name("Sluice-Command-ID")!
}
