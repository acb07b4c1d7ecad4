internal import Commands
internal import HTTPClient
internal import Transfers

/// How the endpoint checks the bytes of a part.
enum S3Checksum: String, Sendable, CaseIterable {
    /// The SHA-256 of the body is signed in `x-amz-content-sha256`. Every endpoint with Signature Version 4
    /// supports it.
    case sha256
    /// `Content-MD5`. OpenStack Swift and rclone enforce it as well.
    case md5
    /// `x-amz-checksum-crc32c`. Many compatible stores ignore it.
    case crc32c
    case none

    /// The hash of a body that the endpoint gets.
    /// - Parameters:
    ///   - isEncrypted: whether TLS protects the body. Without it the body is always signed.
    ///   - digest: the digests of the body.
    /// - Returns: nil where the SHA-256 is needed and missing.
    func payloadHash(isEncrypted: Bool, _ digest: S3PartDigest) -> AWSPayloadHash? {
        guard needsSHA256(isEncrypted: isEncrypted) else { return .unsigned }
        return digest.sha256.map { .sha256(Hexadecimal.text($0)) }
    }

    /// Whether a part needs its SHA-256.
    func needsSHA256(isEncrypted: Bool) -> Bool { self == .sha256 || !isEncrypted }

    /// The header that carries the digest of a part; nil where there is none.
    func header(_ digest: S3PartDigest) -> HTTPField? {
        switch self {
        case .sha256, .none: nil
        case .md5: digest.md5.map { HTTPField("Content-MD5", S3PartDigest.base64($0)) }
        case .crc32c: digest.crc32c.map { HTTPField("x-amz-checksum-crc32c", S3PartDigest.base64(crc: $0)) }
        }
    }

    /// The header of CreateMultipartUpload that announces the checksums of the parts; nil where none is
    /// needed.
    var announcement: HTTPField? {
        self == .crc32c ? HTTPField("x-amz-checksum-algorithm", "CRC32C") : nil
    }
}

/// The digests of one part, as far as its ``S3Checksum`` needs them.
struct S3PartDigest: Sendable, Equatable {
    /// 32 bytes.
    var sha256: [UInt8]?
    /// 16 bytes.
    var md5: [UInt8]?
    var crc32c: UInt32?

    static func base64(_ bytes: [UInt8]) -> String { Base64.encode(bytes) }

    /// Four bytes in network order, as `x-amz-checksum-crc32c` has them.
    static func base64(crc: UInt32) -> String {
        Base64.encode([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: crc >> $0) })
    }
}
