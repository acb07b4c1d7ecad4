internal import HTTPClient

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
