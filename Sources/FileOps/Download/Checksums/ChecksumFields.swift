internal import HTTPClient
internal import Transfers

/// Checksums in the header of an answer. Malformed ones and unknown algorithms are ignored.
enum ChecksumFields {
    /// `Repr-Digest` (RFC 9530, section 3): `sha-256=:base64:, sha-512=:base64:`, the checksums of the whole
    /// representation, also in a 206. Of an algorithm that occurs twice the last one counts (RFC 8941).
    static func reprDigest(_ fields: [String]) -> [Checksum] {
        members(of: fields) { name, value in
            guard let algorithm = ChecksumAlgorithm.allCases.first(where: { $0.reprDigestKey == name }) else {
                return nil
            }
            // Parameters follow a semicolon.
            let item = value.prefix { $0 != ";" }.trimmed
            guard item.utf8.count >= 2, item.hasPrefix(":"), item.hasSuffix(":") else { return nil }
            return checksum(algorithm, base64: item.dropFirst().dropLast())
        }
    }

    /// `Content-MD5` (RFC 1864): base64 of 16 bytes, the checksum of the body.
    static func contentMD5(_ field: String) -> Checksum? { checksum(.md5, base64: field.trimmed[...]) }

    /// `x-goog-hash` of Google Cloud Storage: `crc32c=base64,md5=base64`, the checksums of the stored object.
    static func googHash(_ fields: [String]) -> [Checksum] {
        members(of: fields) { name, value in
            switch name {
            case "crc32c": checksum(.crc32c, base64: value.trimmed[...])
            case "md5": checksum(.md5, base64: value.trimmed[...])
            default: nil
            }
        }
    }

    /// `x-amz-checksum-…` of S3: base64 of the checksum of the whole object. That of an object of several parts may be of
    /// the checksums of its parts, and says nothing about the bytes; neither does the tag of such an object.
    static func amazon(_ fields: HeaderFields) -> [Checksum] {
        guard fields.first("x-amz-checksum-type")?.trimmed.lowercased() ?? "full_object" == "full_object" else {
            return []
        }
        let algorithms: [(String, ChecksumAlgorithm)] = [("sha256", .sha256), ("sha1", .sha1), ("crc32c", .crc32c)]
        return algorithms.compactMap { name, algorithm in
            // One of several parts has their number after a hyphen, which is not a digit of base64.
            fields.first("x-amz-checksum-\(name)").flatMap { checksum(algorithm, base64: $0.trimmed[...]) }
        }
    }

    private static func members(
        of fields: [String], _ read: (_ name: String, _ value: Substring) -> Checksum?
    ) -> [Checksum] {
        var checksums: [Checksum] = []
        for member in fields.flatMap({ $0.split(separator: ",") }) {
            guard let mark = member.firstIndex(of: "="),
                let checksum = read(member[..<mark].trimmed.lowercased(), member[member.index(after: mark)...])
            else { continue }
            checksums.removeAll { $0.algorithm == checksum.algorithm }
            checksums.append(checksum)
        }
        return checksums
    }

    private static func checksum(_ algorithm: ChecksumAlgorithm, base64 text: Substring) -> Checksum? {
        guard let bytes = Base64.decode(text.utf8) else { return nil }
        return Checksum(algorithm, bytes)
    }
}
