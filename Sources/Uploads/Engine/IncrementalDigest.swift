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
        case crc32(CRC32)
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
            case .crc32: .crc32(CRC32())
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
        case .crc32(var hash):
            hash.update(bytes)
            state = .crc32(hash)
        }
    }

    func finish() -> UploadDigest? {
        switch state {
        case .sha256(let hash): UploadDigest(algorithm, Array(hash.finalize()))
        case .sha512(let hash): UploadDigest(algorithm, Array(hash.finalize()))
        case .sha1(let hash): UploadDigest(algorithm, Array(hash.finalize()))
        case .md5(let hash): UploadDigest(algorithm, Array(hash.finalize()))
        case .crc32(let hash):
            UploadDigest(algorithm, [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: hash.value >> $0) })
        }
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
