internal import Commands
internal import HTTPClient
package import HTTPTypes

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

/// `Content-Encoding` of a request. Uploads are kept as they come, and nothing records a coding with them; JSON is read as
/// it comes.
package enum ContentCoding {
    /// - Throws: 415 for a coded body (RFC 9110, section 8.4).
    package static func check(_ fields: HTTPFields) throws(Problem) {
        guard let coding = fields[.contentEncoding], coding.lowercased() != "identity" else { return }
        throw Problem(
            .unsupportedMediaType, "unsupported-content-encoding",
            "The body has the Content-Encoding “\(coding.excerpt)”; send the bytes without a coding.",
            fields: [.acceptEncoding: "identity"])
    }
}

/// The size of a request's body, as the request announces it.
enum BodySize {
    /// - Returns: nil for a chunked body, and for none at all.
    /// - Throws: 400 for a `Content-Length` that does not fit into 64 bits.
    static func read(_ fields: HTTPFields) throws(Problem) -> Int64? { try FieldNumber.read(.contentLength, fields) }
}

/// A number of bytes in a field, as tus and HTTP write it: digits only.
enum FieldNumber {
    /// - Returns: nil where the field is absent. A field that is present and not a number is never absent.
    /// - Throws: 400 for anything but one number of 1 to 19 digits that fits into 64 bits, and for a repeated field.
    static func read(_ name: HTTPField.Name, _ fields: HTTPFields) throws(Problem) -> Int64? {
        let values = fields[values: name]
        guard let value = values.first else { return nil }
        guard values.count == 1 else {
            throw Problem(.badRequest, "invalid-field", "\(name.rawName) is there \(values.count) times; send it once.")
        }
        guard let number = parse(value) else {
            throw Problem(
                .badRequest, "invalid-field",
                "\(name.rawName) is “\(value.excerpt)”, which is not a number of bytes; send digits only.")
        }
        return number
    }

    /// - Returns: nil for anything but 1 to 19 digits whose number fits into 64 bits.
    static func parse(_ text: String) -> Int64? {
        guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text)
    }
}
