/// A digest of the bytes of an upload or of one request.
package struct UploadDigest: Sendable, Equatable {
    package enum Algorithm: String, Sendable, CaseIterable {
        case sha256, sha512, sha1, md5, crc32

        /// Bytes of a digest.
        package var size: Int {
            switch self {
            case .sha256: 32
            case .sha512: 64
            case .sha1: 20
            case .md5: 16
            case .crc32: 4
            }
        }
    }

    package var algorithm: Algorithm
    /// ``Algorithm/size`` bytes; those of CRC-32 in network order.
    package var bytes: [UInt8]

    /// Nil for another number of bytes than the algorithm has.
    package init?(_ algorithm: Algorithm, _ bytes: [UInt8]) {
        guard bytes.count == algorithm.size else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }
}
