internal import Commands
internal import Crypto
internal import HTTPClient
internal import Transfers

/// The part of the cache's key that keeps the responses of one user from another.
///
/// Three caches that lack it answer user B with the body of user A (operations.md, section 4.4).
enum CachePartition {
    /// - Parameters:
    ///   - name: the payload's `partition`. It stands for the secret headers, so that a token may rotate.
    ///   - credential: the name of the credential in sluice.yaml that the request uses.
    ///   - headers: of the payload, without the credential's.
    /// - Returns: empty for a request without secrets. The three kinds cannot be taken for one another.
    static func text(name: String? = nil, credential: String? = nil, headers: HeaderFields) -> String {
        var parts: [String] = []
        if let credential { parts.append("credential:\(credential)") }
        if let name {
            parts.append("name:\(name)")
        } else if let digest = digest(of: headers) {
            parts.append("headers:\(digest)")
        }
        return parts.joined(separator: "\n")
    }

    /// SHA-256 of the secret headers in hexadecimal; nil where there is none.
    private static func digest(of headers: HeaderFields) -> String? {
        let secrets = headers.fields.filter { HTTPHeaderRedaction.isSecret($0.name) }
        guard !secrets.isEmpty else { return nil }
        var hash = SHA256()
        for secret in secrets.map({ ($0.name.lowercased(), $0.value.trimmed) }).sorted(by: { $0 < $1 }) {
            // A header has no zero byte in it, so that no two lists have the same bytes.
            hash.update(data: Array(secret.0.utf8) + [0] + Array(secret.1.utf8) + [0])
        }
        return Hexadecimal.text(hash.finalize())
    }
}
