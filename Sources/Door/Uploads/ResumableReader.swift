internal import Commands
internal import HTTPTypes
internal import Store
internal import Uploads

/// Reads the fields of Resumable Uploads for HTTP. A structured field with another value than the draft's is ignored.
enum ResumableReader {
    /// Reads a POST or PUT.
    /// - Returns: nil for a request that does not say whether it is complete: a plain upload.
    static func creation(_ fields: HTTPFields, _ dialect: ResumableDialect) throws(Problem) -> ResumableCreation? {
        guard let isComplete = dialect.isComplete(fields) else { return nil }
        let size = try BodySize.read(fields)
        var length = StructuredFields.size(.uploadLength, fields)
        if let size, let length, isComplete ? size != length : size > length {
            throw inconsistentLength(stated: length, found: size)
        }
        if isComplete, let size { length = size }
        var append = UploadAppend(offset: 0, size: size, completion: isComplete ? .atEnd : .later)
        append.checksum = try DigestFields.read(.contentDigest, fields)
        return ResumableCreation(
            length: length, digest: try DigestFields.read(.reprDigest, fields), append: append)
    }

    /// Reads a PATCH.
    static func append(_ fields: HTTPFields, _ dialect: ResumableDialect) throws(Problem) -> UploadAppend {
        try ContentCoding.check(fields)
        if dialect.needsMediaType, UploadMediaType.read(fields) != UploadMediaType.partialUpload {
            throw Problem(
                .unsupportedMediaType, "unsupported-media-type",
                "A PATCH of a resumable upload has the Content-Type \(UploadMediaType.partialUpload).",
                fields: [.acceptPatch: UploadMediaType.partialUpload])
        }
        guard let offset = StructuredFields.size(.uploadOffset, fields) else {
            throw Problem(
                .badRequest, "invalid-field",
                "Upload-Offset is not an integer; send the offset that HEAD answers.")
        }
        guard let isComplete = dialect.isComplete(fields) else {
            let name = dialect.completeField.rawName
            let (last, before) = dialect.statesIncomplete ? ("?0", "?1") : ("?1", "?0")
            throw Problem(
                .badRequest, "invalid-field",
                "\(name) is neither ?1 nor ?0; send \(last) with the last bytes, and \(before) before.")
        }
        let size = try BodySize.read(fields)
        var append = UploadAppend(offset: offset, size: size, completion: isComplete ? .atEnd : .later)
        append.length = StructuredFields.size(.uploadLength, fields)
        append.digest = try DigestFields.read(.reprDigest, fields)
        append.checksum = try DigestFields.read(.contentDigest, fields)
        if let size, let length = append.length {
            let (end, overflow) = offset.addingReportingOverflow(size)
            guard !overflow, isComplete ? end == length : end <= length else {
                throw inconsistentLength(stated: length, found: overflow ? .max : end)
            }
        }
        return append
    }

    private static func inconsistentLength(stated: Int64, found: Int64) -> Problem {
        Problem(
            .badRequest, "inconsistent-upload-length",
            "Upload-Length is \(stated), and the bytes of the request end at \(found); correct one of them.")
    }
}

/// The intent of a request that creates an upload of the IETF draft.
struct ResumableCreation: Equatable {
    /// Bytes in all; nil while the client has not stated them.
    var length: Int64?
    /// The required digest of all bytes.
    var digest: UploadDigest?
    /// The bytes of the request itself.
    var append: UploadAppend
}

/// A form of Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload). Its versions differ in some fields.
struct ResumableDialect: Equatable {
    /// Nil for a request without `Upload-Draft-Interop-Version`: the latest form, without 104.
    var version: InteropVersion?
    /// It states `Upload-Incomplete` in place of `Upload-Complete`, with the opposite value. Version 3 does.
    var statesIncomplete: Bool

    init(_ version: InteropVersion?, statesIncomplete: Bool? = nil) {
        self.version = version
        self.statesIncomplete = statesIncomplete ?? (version == .draft01)
    }

    /// Whether each response states the offset: drafts before -06 require it, and tus-js-client fails without it. Later
    /// versions state it in 409 and to HEAD.
    var alwaysStatesOffset: Bool {
        switch version {
        case .draft01, .draft03, .draft04: true
        case .draft09, .draft12, nil: false
        }
    }

    /// The field that states whether an upload is complete.
    var completeField: HTTPField.Name { statesIncomplete ? .uploadIncomplete : .uploadComplete }

    /// Whether a PATCH needs `application/partial-upload`. It came with draft -04, and later ones require it.
    var needsMediaType: Bool { !alwaysStatesOffset }

    /// Whether the upload ends with this request; nil where the field is absent or malformed.
    func isComplete(_ fields: HTTPFields) -> Bool? {
        StructuredFields.boolean(completeField, fields).map { $0 != statesIncomplete }
    }

    /// Sets the field that states whether the upload is complete.
    func setComplete(_ isComplete: Bool, in fields: inout HTTPFields) {
        fields[completeField] = StructuredFields.text(isComplete != statesIncomplete)
    }
}

/// The versions of `Upload-Draft-Interop-Version` that the door speaks.
enum InteropVersion: Int, CaseIterable {
    /// draft-ietf-httpbis-resumable-upload-01: iOS 17.0.
    case draft01 = 3
    /// -03: iOS 18.0, and tus-js-client.
    case draft03 = 5
    /// -04 and -05: iOS 18.1, and tus-js-client.
    case draft04 = 6
    /// -09 to -11: iOS 26.
    case draft09 = 8
    /// -12 and later ones.
    case draft12 = 9

    static var list: String { allCases.map { "\($0.rawValue)" }.joined(separator: ", ") }
}
