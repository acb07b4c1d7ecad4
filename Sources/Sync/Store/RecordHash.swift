internal import Crypto

/// The hash by which two bodies are compared: the first 16 bytes of their SHA-256.
struct RecordHash: Sendable, Equatable {
    private let words: (first: UInt64, second: UInt64)

    init(_ body: ArraySlice<UInt8>) {
        words = body.withUnsafeBytes { bytes in
            var hash = SHA256()
            hash.update(bufferPointer: bytes)
            return hash.finalize().withUnsafeBytes { digest in
                (digest.loadUnaligned(as: UInt64.self), digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        }
    }

    static func == (left: RecordHash, right: RecordHash) -> Bool { left.words == right.words }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: words, body)
    }
}
