internal import HTTPClient

/// The header fields of an object that a producer may set.
package enum S3HeaderRules {
    /// The maximum number of fields, metadata included.
    static let maxFields = 64
    /// The maximum length of a value in bytes.
    static let maxValueLength = 8 << 10
    /// The maximum length of all metadata in bytes, names and values (AWS, “Working with object metadata”).
    static let maxMetadataLength = 2 << 10
    /// The metadata by which a later execution recognises the object of its command.
    static let commandName = "sluice-command"
    static let metadataPrefix = "x-amz-meta-"

    /// - Returns: why this field cannot be set in `headers`, in a sentence; nil where it can.
    package static func objection(to name: String, value: String) -> String? {
        if let objection = HTTPHeaderRules.objection(to: name, value: value) { return objection }
        guard value.utf8.count <= maxValueLength else {
            return "the header “\(name)” is longer than \(maxValueLength) bytes"
        }
        let name = name.lowercased()
        switch name {
        case "content-type": return "the header “\(name)” is set by “contentType”"
        case "if-none-match": return "the header “\(name)” is set by “ifAbsent”"
        case "content-md5", "x-amz-content-sha256", "x-amz-sdk-checksum-algorithm", "x-amz-trailer",
            "x-amz-decoded-content-length":
            return "the header “\(name)” is set by “checksum”"
        case "authorization", "x-amz-date", "x-amz-security-token", "date":
            return "the header “\(name)” belongs to the signature; name the endpoint's credential in sluice.yaml"
        case "range", "if-range", "accept-encoding", "if-match", "if-modified-since", "if-unmodified-since",
            "x-amz-mp-object-size", "x-amz-write-offset-bytes":
            return "the header “\(name)” belongs to the operation and cannot be set"
        default: break
        }
        if name.hasPrefix(metadataPrefix) { return "the header “\(name)” is set by “metadata”" }
        if name.hasPrefix("x-amz-checksum-") { return "the header “\(name)” is set by “checksum”" }
        return name.hasPrefix("x-amz-copy-source")
            ? "the header “\(name)” copies another object; an s3 command sends a file" : nil
    }

    /// - Returns: why this entry cannot stand in `metadata`, in a sentence; nil where it can.
    static func objection(toMetadata name: String, value: String) -> String? {
        let isName = !name.isEmpty && name.utf8.allSatisfy { $0.isLetter || $0.isDigit || "-_.".utf8.contains($0) }
        guard isName else {
            return
                "“\(SingleLine.text(name, limit: 80))” is not a name of metadata; use letters, digits, hyphens, dots "
                + "and underscores"
        }
        guard name.lowercased() != commandName else {
            return "the metadata “\(name)” has the command's id and cannot be set"
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            return "the metadata “\(name)” has a character that is not printable ASCII; percent-encode it"
        }
        return nil
    }

    /// Whether a field of the object stands in every request of a multipart upload, not only in its first.
    static func isRepeated(_ name: String) -> Bool {
        let name = name.lowercased()
        return name == "x-amz-request-payer" || name == "x-amz-expected-bucket-owner"
            || name.hasPrefix("x-amz-server-side-encryption-customer-")
    }
}
