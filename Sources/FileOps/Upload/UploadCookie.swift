internal import Commands
internal import HTTPClient
internal import Transfers

/// A cookie from the creation of an upload. Usually it names the replica that stores the upload. It is sent
/// with the later requests of that upload only. Its value may be a secret and never appears in a message.
struct UploadCookie: Sendable, Equatable {
    /// The maximum cookies of one upload, and their maximum bytes together. They are part of the checkpoint.
    static let maxCount = 16
    static let maxBytes = 4096

    /// `name=value`
    let pair: String
    /// The cookie is sent to this path and the paths below it.
    let path: String

    /// Reads a `Set-Cookie` field (RFC 6265, section 5.2) of an answer from `url`.
    /// - Returns: nil for a cookie of another host, a deleted cookie, or one that cannot be sent.
    init?(setCookie field: String, from url: ResourceURL) {
        let parts = field.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmed }
        guard let first = parts.first, let mark = first.firstIndex(of: "="), mark > first.startIndex,
            first.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else { return nil }
        var path = "/"
        for part in parts.dropFirst() {
            let name = part.prefix { $0 != "=" }.trimmed.lowercased()
            let value = part.drop { $0 != "=" }.dropFirst().trimmed
            switch name {
            case "path": if value.hasPrefix("/") { path = value }
            case "domain" where !value.isEmpty:
                let domain = value.lowercased().drop { $0 == "." }
                guard Self.host(of: url) == domain || Self.host(of: url).hasSuffix(".\(domain)") else { return nil }
            case "max-age": if let seconds = Int64(value), seconds <= 0 { return nil }
            case "secure": guard url.scheme == .https else { return nil }
            default: break
            }
        }
        pair = first
        self.path = path
    }

    /// Reads the form in a checkpoint: `["name=value", "/path"]`.
    init?(_ value: JSONValue) {
        guard let elements = value.elements, elements.count == 2, let pair = elements[0].string,
            let path = elements[1].string
        else { return nil }
        self.pair = pair
        self.path = path
    }

    var json: JSONValue { .array([.string(pair), .string(path)]) }

    /// The cookies of an answer: the last of each name, within ``maxCount`` and ``maxBytes``.
    static func cookies(in record: HTTPRecord, from url: ResourceURL) -> [UploadCookie] {
        var cookies: [UploadCookie] = []
        for cookie in record.fields("set-cookie").compactMap({ UploadCookie(setCookie: $0, from: url) }) {
            cookies.removeAll { $0.name == cookie.name && $0.path == cookie.path }
            cookies.append(cookie)
        }
        var room = maxBytes
        return cookies.prefix(maxCount).filter { cookie in
            room -= cookie.pair.utf8.count + cookie.path.utf8.count
            return room >= 0
        }
    }

    /// Whether the cookie is sent with a request to `path` (section 5.1.4).
    func isFor(_ path: String) -> Bool {
        let own = self.path
        return path == own || own == "/" || path.hasPrefix(own.hasSuffix("/") ? own : own + "/")
    }

    private var name: Substring { pair.prefix { $0 != "=" } }

    /// The host without brackets and port, in lower case.
    private static func host(of url: ResourceURL) -> String {
        let authority = url.origin.drop { $0 != ":" }.dropFirst(3)
        let host =
            authority.hasPrefix("[") ? authority.prefix { $0 != "]" }.dropFirst() : authority.prefix { $0 != ":" }
        return host.lowercased()
    }
}
