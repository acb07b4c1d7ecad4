internal import Crypto
internal import Store

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
