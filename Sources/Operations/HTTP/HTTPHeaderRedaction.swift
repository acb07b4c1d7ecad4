package import Commands

/// Keeps secrets out of everything that prints headers or payloads.
package enum HTTPHeaderRedaction {
    package static let replacement = "[redacted]"

    /// Whether the values of this header are secrets: by its name, and rather one too many.
    package static func isSecret(_ name: some StringProtocol) -> Bool {
        let name = name.lowercased()
        switch name {
        case "cookie", "set-cookie", "x-amz-security-token", "x-api-key", "api-key", "apikey": return true
        default:
            return ["auth", "token", "secret", "password", "passwd", "credential", "session", "signature", "api-key"]
                .contains { name.contains($0) }
        }
    }

    /// The value as it may be shown.
    package static func shown(_ value: String, of name: some StringProtocol) -> String {
        isSecret(name) ? replacement : value
    }

    /// A payload as it may be shown: secret headers are replaced, and the values in a URL's query, which often sign it.
    package static func shown(_ payload: JSONValue) -> JSONValue {
        guard let members = payload.members else { return payload }
        return .object(
            members.map { member in
                switch (member.name, member.value) {
                case ("headers", .object(let headers)):
                    let shown = headers.map { header in
                        isSecret(header.name) ? JSONValue.Member(header.name, .string(replacement)) : header
                    }
                    return JSONValue.Member("headers", .object(shown))
                case ("to", .string(let url)): return JSONValue.Member("to", .string(shown(url: url)))
                default: return member
                }
            })
    }

    /// A URL as it may be shown: `?signature=…` becomes `?signature=[redacted]`.
    package static func shown(url: String) -> String {
        guard let mark = url.firstIndex(of: "?") else { return url }
        let fields = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let shown = fields.map { field in
            field.firstIndex(of: "=").map { "\(field[...$0])\(replacement)" } ?? String(field)
        }
        return url[...mark] + shown.joined(separator: "&")
    }
}
