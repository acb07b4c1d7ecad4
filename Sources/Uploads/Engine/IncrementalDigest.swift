internal import Crypto
internal import Host
internal import Store

/// A digest of bytes that come in parts.
struct IncrementalDigest {
    private enum State {
        case sha256(SHA256)
        case sha512(SHA512)
        case sha1(Insecure.SHA1)
        case md5(Insecure.MD5)
        case crc32(UInt32)
    }

    let algorithm: UploadDigest.Algorithm
    private var state: State

    init(_ algorithm: UploadDigest.Algorithm) {
        self.algorithm = algorithm
        state =
            switch algorithm {
            case .sha256: .sha256(SHA256())
            case .sha512: .sha512(SHA512())
            case .sha1: .sha1(Insecure.SHA1())
            case .md5: .md5(Insecure.MD5())
            case .crc32: .crc32(.max)
            }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .sha256(var hash):
            hash.update(bufferPointer: bytes)
            state = .sha256(hash)
        case .sha512(var hash):
            hash.update(bufferPointer: bytes)
            state = .sha512(hash)
        case .sha1(var hash):
            hash.update(bufferPointer: bytes)
            state = .sha1(hash)
        case .md5(var hash):
            hash.update(bufferPointer: bytes)
            state = .md5(hash)
        case .crc32(let value): state = .crc32(Self.crc32(value, bytes))
        }
    }

    func finish() -> UploadDigest? {
        switch state {
        case .sha256(let hash): UploadDigest(algorithm, Array(hash.finalize()))
        case .sha512(let hash): UploadDigest(algorithm, Array(hash.finalize()))
        case .sha1(let hash): UploadDigest(algorithm, Array(hash.finalize()))
        case .md5(let hash): UploadDigest(algorithm, Array(hash.finalize()))
        case .crc32(let value):
            UploadDigest(algorithm, (0..<4).map { UInt8(truncatingIfNeeded: ~value >> (24 - 8 * $0)) })
        }
    }

    /// CRC-32 of ISO/IEC 3309, as in gzip (RFC 1952, section 8), a byte at a time.
    private static func crc32(_ start: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        table.withUnsafeBufferPointer { table in
            var value = start
            for byte in bytes { value = table[Int((value ^ UInt32(byte)) & 0xFF)] ^ (value >> 8) }
            return value
        }
    }

    private static let table: [UInt32] = (0..<256).map { number in
        (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }
}

extension DiskThreads {
    /// Reads a part of a file for its digest.
    func digest(
        of file: SpoolFile, _ range: Range<Int64>, _ algorithm: UploadDigest.Algorithm
    ) async -> Result<UploadDigest?, SystemError> {
        await run { () throws(Never) in
            Result { () throws(SystemError) in
                var digest = IncrementalDigest(algorithm)
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
                defer { buffer.deallocate() }
                var offset = range.lowerBound
                while offset < range.upperBound {
                    let wanted = Int(min(Int64(buffer.count), range.upperBound - offset))
                    let count = try file.read(into: .init(rebasing: buffer[..<wanted]), at: offset)
                    guard count > 0 else { return nil }
                    digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    offset += Int64(count)
                }
                return digest.finish()
            }
        }
    }
}
