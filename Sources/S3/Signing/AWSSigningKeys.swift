internal import Crypto

/// The signing keys of the last days and regions. A key takes four HMACs, and every part of an upload needs
/// it. A rotated secret gets a new key, because the secret is a part of the entry.
struct AWSSigningKeys: Sendable {
    private struct Entry {
        let secret: String
        let scope: AWSScope
        let key: SymmetricKey
    }

    /// The maximum number of keys.
    static let maxEntries = 8

    private var entries: [Entry] = []

    /// The number of keys in memory.
    var count: Int { entries.count }

    mutating func key(for credential: AWSCredential, _ scope: AWSScope) -> SymmetricKey {
        if let entry = entries.first(where: { $0.scope == scope && $0.secret == credential.secretKey }) {
            return entry.key
        }
        let key = Self.derive(credential.secretKey, scope)
        if entries.count >= Self.maxEntries { entries.removeFirst() }
        entries.append(Entry(secret: credential.secretKey, scope: scope, key: key))
        return key
    }

    private static func derive(_ secret: String, _ scope: AWSScope) -> SymmetricKey {
        var key = SymmetricKey(data: Array("AWS4\(secret)".utf8))
        for part in [scope.day, scope.region, scope.service, "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
        }
        return key
    }
}
