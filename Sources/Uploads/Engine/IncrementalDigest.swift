internal import Commands
internal import Host
internal import Store

/// A digest of bytes that come in parts.
struct IncrementalDigest {
    let algorithm: UploadDigest.Algorithm
    private var hash: any IncrementalHash

    init(_ algorithm: UploadDigest.Algorithm) {
        self.algorithm = algorithm
        hash = algorithm.makeHash()
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bytes) }

    func finish() -> UploadDigest? { UploadDigest(algorithm, hash.bytes) }
}

extension BlockingPool {
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
