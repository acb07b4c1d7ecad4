internal import Commands
internal import Crypto
internal import HTTPClient
internal import Operations
internal import Store
internal import Transfers

/// The expected checksum of a whole file.
struct Checksum: Sendable, Equatable {
    let algorithm: ChecksumAlgorithm
    let bytes: [UInt8]

    /// - Returns: nil where the number of bytes is not that of the algorithm.
    init?(_ algorithm: ChecksumAlgorithm, _ bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Reads `sha256:` and 64 hexadecimal digits; likewise `sha512`, `sha1` and `md5`.
    init(_ text: String) throws(PayloadError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let algorithm = ChecksumAlgorithm(rawValue: parts[0].lowercased()),
            algorithm != .crc32c
        else {
            throw PayloadError(
                .data,
                "“checksum” is “\(text.prefix(200))”; it is sha256, sha512, sha1 or md5, a colon and the hexadecimal "
                    + "digits")
        }
        guard let bytes = Hexadecimal.bytes(parts[1]), bytes.count == algorithm.byteCount else {
            throw PayloadError(
                .data,
                "“checksum” must have \(2 * algorithm.byteCount) hexadecimal digits after “\(algorithm.rawValue):”")
        }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// `sha256:` and the digits in lower case.
    var text: String { "\(algorithm.rawValue):\(Hexadecimal.text(bytes))" }
}

/// An algorithm of a checksum. The raw values are the names in payloads.
enum ChecksumAlgorithm: String, Sendable, CaseIterable {
    case sha256, sha512, sha1, md5
    /// Castagnoli's. It occurs only in answers, because 4 bytes find accidents and prove nothing.
    case crc32c

    /// The number of bytes of a checksum.
    var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha512: 64
        case .sha1: 20
        case .md5: 16
        case .crc32c: 4
        }
    }

    /// Starts a hash.
    func makeHash() -> any IncrementalHash {
        switch self {
        case .sha256: SHA256()
        case .sha512: SHA512()
        case .sha1: Insecure.SHA1()
        case .md5: Insecure.MD5()
        case .crc32c: CRC32(.castagnoli)
        }
    }

    /// The key in `Repr-Digest` (RFC 9530, section 7.2).
    var reprDigestKey: String {
        switch self {
        case .sha256: "sha-256"
        case .sha512: "sha-512"
        case .sha1: "sha"
        case .md5: "md5"
        case .crc32c: "crc32c"
        }
    }
}

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
