internal import Crypto
internal import HTTPClient

/// An access key of AWS or of a compatible store. Its descriptions do not contain the secrets.
struct AWSCredential: Sendable, Equatable {
    let accessKey: String
    let secretKey: String
    /// The token of a temporary credential.
    let sessionToken: String?

    init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// - Returns: why an access key cannot be used, in a sentence; nil where it can. It stands between commas
    ///   and slashes of the header `Authorization`.
    static func objection(toAccessKey key: String) -> String? {
        guard !key.isEmpty else { return "the access key is empty" }
        guard key.utf8.count <= 256 else { return "the access key is longer than 256 bytes" }
        guard key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !",/=".utf8.contains($0) }) else {
            return "the access key “\(SingleLine.text(key, limit: 40))” contains a space, a comma, a slash, an equals "
                + "sign or a character that is not ASCII; copy it again from the store's console"
        }
        return nil
    }
}

extension AWSCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "the access key \(accessKey)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}

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
