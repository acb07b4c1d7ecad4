internal import Crypto

/// Computes the checksum of bytes that come in pieces.
struct ChecksumDigest: Sendable {
    private enum State: Sendable {
        case sha256(SHA256)
        case sha512(SHA512)
        case sha1(Insecure.SHA1)
        case md5(Insecure.MD5)
        case crc32c(CRC32C)
    }

    private var state: State

    init(_ algorithm: ChecksumAlgorithm) {
        state =
            switch algorithm {
            case .sha256: .sha256(SHA256())
            case .sha512: .sha512(SHA512())
            case .sha1: .sha1(Insecure.SHA1())
            case .md5: .md5(Insecure.MD5())
            case .crc32c: .crc32c(CRC32C())
            }
    }

    mutating func update(_ bytes: [UInt8]) {
        switch state {
        case .sha256(var hash):
            hash.update(data: bytes)
            state = .sha256(hash)
        case .sha512(var hash):
            hash.update(data: bytes)
            state = .sha512(hash)
        case .sha1(var hash):
            hash.update(data: bytes)
            state = .sha1(hash)
        case .md5(var hash):
            hash.update(data: bytes)
            state = .md5(hash)
        case .crc32c(var hash):
            hash.update(bytes)
            state = .crc32c(hash)
        }
    }

    /// The checksum of the bytes so far.
    var bytes: [UInt8] {
        switch state {
        case .sha256(let hash): Array(hash.finalize())
        case .sha512(let hash): Array(hash.finalize())
        case .sha1(let hash): Array(hash.finalize())
        case .md5(let hash): Array(hash.finalize())
        case .crc32c(let hash): hash.bytes
        }
    }
}
