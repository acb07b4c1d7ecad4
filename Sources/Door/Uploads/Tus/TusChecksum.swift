internal import Commands
internal import HTTPClient
internal import HTTPTypes
internal import Store

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
