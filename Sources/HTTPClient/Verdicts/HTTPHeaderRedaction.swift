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
                    return JSONValue.Member("headers", .object(headers.map(shown(header:))))
                case ("to", .string(let url)): return JSONValue.Member("to", .string(shown(url: url)))
                default: return member
                }
            })
    }

    /// A result as it may be shown: secret headers are replaced, and the values in the queries of the URLs that an answer
    /// names, which often sign them.
    package static func shown(result: JSONValue) -> JSONValue {
        guard let members = result.members else { return result }
        return .object(
            members.map { member in
                guard member.name == "headers", case .object(let headers) = member.value else { return member }
                return JSONValue.Member("headers", .object(headers.map(shown(header:))))
            })
    }

    private static func shown(header: JSONValue.Member) -> JSONValue.Member {
        if isSecret(header.name) { return JSONValue.Member(header.name, .string(replacement)) }
        switch (header.name.lowercased(), header.value) {
        case ("location", .string(let url)), ("content-location", .string(let url)):
            return JSONValue.Member(header.name, .string(shown(url: url)))
        default: return header
        }
    }

    /// What may be shown of a text that should be a header and is none: what stands before its first space or colon, for
    /// the rest may be a secret. Nil where there is nothing before it, or neither of them.
    package static func start(ofMalformed text: String) -> String? {
        guard let end = text.unicodeScalars.firstIndex(where: { $0.properties.isWhitespace || $0 == ":" }),
            end > text.startIndex
        else {
            return nil
        }
        return String(text[..<end].prefix(80))
    }

    /// A URL as it may be shown: `?signature=…` becomes `?signature=[redacted]` and `?token` becomes `?[redacted]`, in a
    /// fragment as well.
    package static func shown(url: String) -> String {
        guard let mark = url.unicodeScalars.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return url }
        let fields = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let redacted: [String] = fields.map { shown(field: $0) }
        return url[...mark] + redacted.joined(separator: "&")
    }

    /// `name=value`; without a name or a value it may be a token, whose padding is no value, and is not shown at all.
    private static func shown(field: Substring) -> String {
        guard let mark = field.firstIndex(of: "="), !field[..<mark].contains("#"),
            field[mark...].contains(where: { $0 != "=" })
        else { return field.isEmpty ? "" : replacement }
        return "\(field[...mark])\(replacement)"
    }
}
