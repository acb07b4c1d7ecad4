internal import Commands
internal import HTTPTypes
internal import Uploads

/// Reads the fields of tus requests, in the order in which tusd checks them.
enum TusReader {
    static let version = "1.0.0"

    /// - Throws: 412 for another version than 1.0.0. HEAD and GET need none.
    static func checkVersion(_ fields: HTTPFields) throws(Problem) {
        let value = fields[.tusResumable]
        guard value == version else {
            let stated = value.map { "“\($0.excerpt)”" } ?? "absent"
            throw Problem(
                .preconditionFailed, "unsupported-tus-version", "Tus-Resumable is \(stated); send \(version).",
                fields: [.tusVersion: version])
        }
    }

    /// Reads a POST.
    static func creation(_ fields: HTTPFields) throws(Problem) -> TusRequest {
        try checkVersion(fields)
        let length = try FieldNumber.read(.uploadLength, fields)
        let isDeferred = try isDeferred(fields)
        let metadata = try TusMetadata.read(fields)
        let hasBody = MediaType.read(fields) == MediaType.tus
        let concatenation = try TusConcatenation.read(fields)
        if case .final(let ids) = concatenation {
            guard length == nil, !isDeferred else {
                throw Problem(
                    .badRequest, "inconsistent-upload-length",
                    "A final upload has the length of its parts; leave out Upload-Length and Upload-Defer-Length.")
            }
            let size = try BodySize.read(fields)
            guard !hasBody, size ?? 0 == 0 else { throw bodyOfFinal }
            return .concatenate(ids, metadata)
        }
        guard (length != nil) != isDeferred else {
            throw Problem(
                .badRequest, "inconsistent-upload-length",
                length == nil
                    ? "Upload-Length is absent; send it, or Upload-Defer-Length: 1."
                    : "Upload-Length and Upload-Defer-Length are both there; send one of them.")
        }
        var creation = TusRequest.Creation(length: length, metadata: metadata, isPartial: concatenation == .partial)
        if hasBody {
            try ContentCoding.check(fields)
            var append = UploadAppend(offset: 0, size: try BodySize.read(fields), completion: .atLength)
            try readChecksum(fields, into: &append)
            creation.append = append
        }
        return .create(creation)
    }

    /// Reads a PATCH.
    static func append(_ fields: HTTPFields) throws(Problem) -> UploadAppend {
        try checkVersion(fields)
        try ContentCoding.check(fields)
        guard MediaType.read(fields) == MediaType.tus else {
            throw Problem(
                .unsupportedMediaType, "unsupported-media-type",
                "A PATCH of tus has the Content-Type \(MediaType.tus).",
                fields: [.acceptPatch: MediaType.tus])
        }
        guard let offset = try FieldNumber.read(.uploadOffset, fields) else {
            throw Problem(
                .badRequest, "invalid-field", "Upload-Offset is absent; send the offset that HEAD answers.")
        }
        var append = UploadAppend(offset: offset, size: try BodySize.read(fields), completion: .atLength)
        append.length = try FieldNumber.read(.uploadLength, fields)
        append.metadata = try TusMetadata.read(fields)?.text
        append.digest = try DigestFields.read(.reprDigest, fields)
        try readChecksum(fields, into: &append)
        return append
    }

    /// Reads the checksum of the bytes of a request: `Upload-Checksum`, before or after them, or `Content-Digest`.
    private static func readChecksum(_ fields: HTTPFields, into append: inout UploadAppend) throws(Problem) {
        let checksum = try TusChecksum.read(fields)
        let digest = try DigestFields.read(.contentDigest, fields)
        append.hasTrailingChecksum = TusChecksum.isInTrailers(fields)
        append.checksum = checksum ?? digest
        guard [checksum != nil, digest != nil, append.hasTrailingChecksum].count(where: \.self) <= 1 else {
            throw Problem(
                .badRequest, "invalid-checksum",
                "The bytes of the request have several checksums (Upload-Checksum, its trailer, Content-Digest); send one."
            )
        }
    }

    static var bodyOfFinal: Problem {
        Problem(.forbidden, "final-upload", "A final upload takes no bytes; it has those of its parts.")
    }

    private static func isDeferred(_ fields: HTTPFields) throws(Problem) -> Bool {
        let values = fields[values: .uploadDeferLength]
        guard let value = values.first else { return false }
        guard values == ["1"] else {
            throw Problem(
                .badRequest, "invalid-field", "Upload-Defer-Length is “\(value.excerpt)”; send 1, or leave it out.")
        }
        return true
    }
}
