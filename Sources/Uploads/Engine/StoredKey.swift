internal import Commands
internal import Crypto
internal import Store

/// An idempotency key as the store keeps it, with the digest of the request that it belongs to.
struct StoredKey: Sendable {
    let name: String
    let fingerprint: [UInt8]

    /// - Parameter length: nil while the client does not know it.
    init(_ key: IdempotencyKey, _ facts: UploadFacts, length: Int64?) {
        name = key.stored
        fingerprint = facts.fingerprint(length: length)
    }

    /// The key of a request whose bytes are all there.
    init(_ key: IdempotencyKey, _ facts: UploadFacts, _ bytes: [UInt8]) {
        name = key.stored
        fingerprint = Array(
            SHA256.hash(data: facts.fingerprint(length: Int64(bytes.count)) + Array(SHA256.hash(data: bytes))))
    }
}

extension IdempotencyKey {
    /// Keys of different tokens are different.
    var stored: String { "\(token)\u{1F}\(value)" }
}

extension UploadFacts {
    /// Equal for requests that create the same upload.
    func fingerprint(length: Int64?) -> [UInt8] {
        let text = "\(length.map(String.init) ?? "unknown")\n\(json.text)"
        return Array(SHA256.hash(data: Array(text.utf8)))
    }
}
