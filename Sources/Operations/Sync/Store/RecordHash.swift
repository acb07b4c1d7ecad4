internal import Crypto

/// The hash by which two bodies are compared: the first 16 bytes of their SHA-256.
enum RecordHash {
    static func of(_ body: ArraySlice<UInt8>) -> [UInt8] {
        body.withUnsafeBytes { bytes in
            var hash = SHA256()
            hash.update(bufferPointer: bytes)
            return Array(hash.finalize().prefix(16))
        }
    }
}
