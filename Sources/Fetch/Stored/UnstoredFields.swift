internal import HTTPClient
internal import Transfers

/// The header fields that concern one connection or one proxy, and are not stored (RFC 9111, section 3.1).
enum UnstoredFields {
    private static let always: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]

    /// Fields that the cache itself needs. `Connection` must not name them (RFC 9110, section 7.6.1), and a
    /// response that does so would lose its `no-cache`.
    private static let protected: Set<String> = [
        "age", "cache-control", "date", "etag", "expires", "last-modified", "vary",
    ]

    /// The names, in lower case, that this message does not leave in the store.
    static func names(of headers: HeaderFields) -> Set<String> {
        var names = always
        for value in headers.values("connection") {
            for name in value.split(separator: ",") { names.insert(name.trimmed.lowercased()) }
        }
        return names.subtracting(protected)
    }

    /// Fields of a 304 that leave the stored ones alone: they describe the stored body (section 3.2).
    static let keptAtUpdate: Set<String> = ["content-length", "content-encoding", "content-range"]
}
