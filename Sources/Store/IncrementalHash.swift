package import Commands
package import Crypto

/// A hash of bytes that come in parts.
package protocol IncrementalHash: Sendable {
    mutating func update(_ bytes: UnsafeRawBufferPointer)
    /// The hash of the bytes so far.
    var bytes: [UInt8] { get }
}

extension IncrementalHash {
    package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }
}

extension IncrementalHash where Self: HashFunction {
    package mutating func update(_ bytes: UnsafeRawBufferPointer) { update(bufferPointer: bytes) }
    package var bytes: [UInt8] { Array(finalize()) }
}

extension SHA256: IncrementalHash {}
extension SHA512: IncrementalHash {}
extension Insecure.SHA1: IncrementalHash {}
extension Insecure.MD5: IncrementalHash {}

extension UploadDigest.Algorithm {
    /// Starts a hash.
    package func makeHash() -> any IncrementalHash {
        switch self {
        case .sha256: SHA256()
        case .sha512: SHA512()
        case .sha1: Insecure.SHA1()
        case .md5: Insecure.MD5()
        case .crc32: CRC32(.iso3309)
        }
    }
}

/// A CRC of 32 bits, reflected, whose start and result are inverted.
package struct CRC32: IncrementalHash {
    /// The polynomial, as the CRCs of all bytes.
    package struct Polynomial: Sendable {
        fileprivate let table: [UInt32]

        private init(reflected polynomial: UInt32) {
            table = (0..<256).map { index in
                (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ polynomial : value >> 1 }
            }
        }

        /// 0x04C11DB7 of ISO 3309, as in gzip (RFC 1952, section 8).
        package static let iso3309 = Polynomial(reflected: 0xEDB8_8320)
        /// 0x1EDC6F41 of Castagnoli (RFC 9260, appendix A): CRC-32C.
        package static let castagnoli = Polynomial(reflected: 0x82F6_3B78)
    }

    private let polynomial: Polynomial
    private var state = UInt32.max

    package init(_ polynomial: Polynomial) { self.polynomial = polynomial }

    /// The CRC of the bytes so far.
    package var value: UInt32 { ~state }

    /// ``value``, the most significant byte first.
    package var bytes: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var state = state
        polynomial.table.withUnsafeBufferPointer { table in
            for byte in bytes { state = state >> 8 ^ table[Int((state ^ UInt32(byte)) & 0xFF)] }
        }
        self.state = state
    }

    /// The CRC of some bytes.
    package init(_ polynomial: Polynomial, of bytes: some Sequence<UInt8>) {
        self.init(polynomial)
        update(Array(bytes))
    }
}
