internal import Commands
internal import Crypto
internal import HTTPClient
internal import Operations
internal import Transfers

/// Identifies a stored response. Only GET is stored, so that the method is not part of it (RFC 9111, section
/// 2).
struct CacheKey: Sendable {
    /// As ``normalized(_:)``.
    var url: String
    /// As ``CachePartition/text(name:credential:headers:)``.
    var partition: String
    /// As ``VaryNames/text(for:)``.
    var vary: String

    /// The URL of a key: scheme and host in lower case, without the default port and the fragment, with `/`
    /// for an empty path. Path and query keep every byte, because a server may tell any two apart.
    /// - Throws: ``PayloadError`` of the kind `usage`.
    static func url(_ text: String) throws(PayloadError) -> String {
        let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        return normalized(try ResourceURL(String(text[..<end])))
    }

    static func normalized(_ url: ResourceURL) -> String {
        guard let origin = HTTPOrigin(url.destination) else { return url.text }
        let path = url.path.isEmpty ? "/" : url.path
        return "\(url.scheme.rawValue)://\(origin.hostField)\(path)\(url.query)"
    }

    /// The unique key of a `fetch` command, so that repeated pulls join the running one: 70 bytes, because a
    /// URL may exceed the 512 bytes of a unique key.
    ///
    /// The response says only later which headers it varies by, so that all headers count here.
    /// - Parameter request: its mode and `maxStale` do not count.
    static func uniqueKey(of request: FetchRequest) -> String {
        var hash = SHA256()
        func add(_ text: String) {
            let bytes = Array(text.utf8)
            hash.update(data: Array("\(bytes.count):".utf8) + bytes)
        }
        add(request.url)
        add(request.partition)
        let names = Set(request.headers.fields.map { $0.name.lowercased() })
        for name in names.sorted() where !HTTPHeaderRedaction.isSecret(name) {
            add(name)
            add(request.headers.values(name).map(\.trimmed).joined(separator: ", "))
        }
        return "fetch:\(Hexadecimal.text(hash.finalize()))"
    }
}

/// Keys are compared by their bytes, as SQLite does it: two that differ only in their Unicode form are two
/// keys.
extension CacheKey: Hashable {
    static func == (left: CacheKey, right: CacheKey) -> Bool {
        left.url.hasSameBytes(as: right.url) && left.partition.hasSameBytes(as: right.partition)
            && left.vary.hasSameBytes(as: right.vary)
    }

    func hash(into hasher: inout Hasher) {
        for text in [url, partition, vary] {
            for byte in text.utf8 { hasher.combine(byte) }
        }
    }
}

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
