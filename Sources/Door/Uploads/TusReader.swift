internal import Commands
internal import HTTPClient
internal import HTTPTypes
internal import Store
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
        let hasBody = UploadMediaType.read(fields) == UploadMediaType.tus
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
        guard UploadMediaType.read(fields) == UploadMediaType.tus else {
            throw Problem(
                .unsupportedMediaType, "unsupported-media-type",
                "A PATCH of tus has the Content-Type \(UploadMediaType.tus).",
                fields: [.acceptPatch: UploadMediaType.tus])
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

/// The intent of a tus request.
enum TusRequest: Equatable {
    case create(Creation)
    /// Joins uploads into a new one.
    case concatenate([CommandID], TusMetadata?)

    struct Creation: Equatable {
        /// Nil for a deferred one.
        var length: Int64?
        var metadata: TusMetadata?
        /// It may become a part of others.
        var isPartial = false
        /// Where the request also sends the first bytes (creation-with-upload).
        var append: UploadAppend?
    }
}

/// `Upload-Checksum` of tus: the name of an algorithm, and base64.
enum TusChecksum {
    /// As `Tus-Checksum-Algorithm` lists them. tus requires SHA-1.
    static let algorithms: [UploadDigest.Algorithm] = [.sha1, .sha256, .sha512, .md5, .crc32]

    /// - Returns: nil where the field is absent.
    /// - Throws: 400 for an unknown algorithm, and for a malformed or repeated field.
    static func read(_ fields: HTTPFields) throws(Problem) -> UploadDigest? {
        let values = fields[values: .uploadChecksum]
        guard let text = values.first else { return nil }
        guard values.count == 1 else { throw refusal("is there \(values.count) times; send it once") }
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard let algorithm = algorithms.first(where: { $0.rawValue == parts.first?.lowercased() }) else {
            let name = parts.first?.excerpt ?? ""
            throw refusal("names the algorithm “\(name)”; use one of \(list)")
        }
        guard parts.count == 2, let bytes = StrictBase64.decode(parts[1].trimmed),
            let digest = UploadDigest(algorithm, bytes)
        else { throw refusal("is not “\(algorithm.rawValue)” and base64 of \(algorithm.size) bytes") }
        return digest
    }

    /// Whether the field comes after the body.
    static func isInTrailers(_ fields: HTTPFields) -> Bool {
        let names = fields[values: .trailer].flatMap { $0.split(separator: ",") }
        return names.contains { HTTPField.Name($0.trimmed) == .uploadChecksum }
    }

    /// Reads the field after the body, which the request has announced.
    /// - Throws: 400 where it is absent, and as ``read(_:)``.
    static func read(trailers: HTTPFields?) throws(Problem) -> UploadDigest {
        guard let checksum = try read(trailers ?? [:]) else { throw refusal("is announced by Trailer, and absent") }
        return checksum
    }

    static var list: String { algorithms.map(\.rawValue).joined(separator: ",") }

    private static func refusal(_ reason: String) -> Problem {
        Problem(.badRequest, "invalid-checksum", "Upload-Checksum \(reason).")
    }
}

/// `Upload-Concat` of tus.
enum TusConcatenation: Equatable {
    case partial
    /// The uploads to join, in their order.
    case final([CommandID])

    /// - Returns: nil where the field is absent.
    /// - Throws: 400 for a malformed or repeated field, and for URLs that are not those of uploads.
    static func read(_ fields: HTTPFields) throws(Problem) -> TusConcatenation? {
        let values = fields[values: .uploadConcat]
        guard let text = values.first else { return nil }
        guard values.count == 1 else { throw refusal("is there \(values.count) times; send it once") }
        if text.trimmed == "partial" { return .partial }
        let parts = text.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].trimmed == "final" else {
            throw refusal("is neither “partial” nor “final;” with the URLs of the parts")
        }
        var ids: [CommandID] = []
        for url in parts[1].split(whereSeparator: { $0 == " " || $0 == "\t" }) {
            guard let id = id(url) else {
                throw refusal("names “\(url.excerpt)”, which is not the URL of an upload here")
            }
            ids.append(id)
        }
        guard !ids.isEmpty else { throw refusal("names no part") }
        return .final(ids)
    }

    /// - Parameter location: the URL of an upload, from its id.
    func text(_ location: (CommandID) -> String) -> String {
        switch self {
        case .partial: "partial"
        case .final(let ids): "final;" + ids.map(location).joined(separator: " ")
        }
    }

    /// Absolute URLs and paths both end with `/uploads/` and the id.
    private static func id(_ url: Substring) -> CommandID? {
        let parts = url.utf8.split(separator: .slash, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[parts.count - 2].elementsEqual("uploads".utf8) else { return nil }
        return CommandID(Substring(parts[parts.count - 1]))
    }

    private static func refusal(_ reason: String) -> Problem {
        Problem(.badRequest, "invalid-concatenation", "Upload-Concat \(reason).")
    }
}
