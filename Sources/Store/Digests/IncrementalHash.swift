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
