/// Removes secrets from headers, URLs and payloads that are displayed.
package enum HTTPHeaderRedaction {
    package static let replacement = "[redacted]"

    /// Whether the values of a header are secrets, by its name. In doubt they are.
    package static func isSecret(_ name: some StringProtocol) -> Bool {
        let name = name.utf8.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
        return secretNames.contains(name)
            || secretWords.contains { word in
                name.indices.contains { name[$0...].starts(with: word) }
            }
    }

    private static let secretNames = ["cookie", "set-cookie", "apikey"].map { Array($0.utf8) }

    /// Parts of such names.
    private static let secretWords = [
        "auth", "token", "secret", "password", "passwd", "credential", "session", "signature", "api-key",
        "customer-key",
    ].map { Array($0.utf8) }

    /// The value to display.
    package static func shown(_ value: String, of name: some StringProtocol) -> String {
        isSecret(name) ? replacement : value
    }

    /// A payload to display: without the values of secret headers and of the URL's query, which often
    /// contains a signature, and without the values of an environment
    /// and without the input of a program.
    package static func shown(_ payload: JSONValue) -> JSONValue {
        guard let members = payload.members else { return payload }
        return .object(
            members.map { member in
                switch (member.name, member.value) {
                case ("headers", .object(let headers)):
                    return JSONValue.Member("headers", .object(headers.map(shown(header:))))
                case ("environment", .object(let variables)):
                    let shown = variables.map { JSONValue.Member($0.name, .string(replacement)) }
                    return JSONValue.Member("environment", .object(shown))
                case ("stdin", .string(let text)):
                    return JSONValue.Member("stdin", .string("[\(text.utf8.count) bytes]"))
                case ("to", .string(let url)), ("url", .string(let url)), ("presigned", .string(let url)):
                    return JSONValue.Member(member.name, .string(shown(url: url)))
                default: return member
                }
            })
    }

    /// A result to display: without the values of secret headers and of the queries in URLs of the response,
    /// which often contain signatures.
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

    /// The start of a malformed header that may be displayed: the part before its first space or colon. The
    /// rest may be a secret.
    /// - Returns: nil where that part is empty, or the text has neither a space nor a colon.
    package static func start(ofMalformed text: String) -> String? {
        guard let end = text.unicodeScalars.firstIndex(where: { $0.properties.isWhitespace || $0 == ":" }),
            end > text.startIndex
        else {
            return nil
        }
        return String(text[..<end].prefix(80))
    }

    /// A URL to display: `?signature=…` becomes `?signature=[redacted]` and `?token` becomes `?[redacted]`.
    /// The same applies to a fragment.
    package static func shown(url: String) -> String {
        guard let mark = url.unicodeScalars.firstIndex(where: { $0 == "?" || $0 == "#" }) else { return url }
        let fields = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let redacted: [String] = fields.map { shown(field: $0) }
        return url[...mark] + redacted.joined(separator: "&")
    }

    /// Redacts the value of `name=value`. A field without a name or a value may be a token, whose padding is
    /// not a value, so it is redacted as a whole.
    private static func shown(field: Substring) -> String {
        guard let mark = field.firstIndex(of: "="), !field[..<mark].contains("#"),
            field[mark...].contains(where: { $0 != "=" })
        else { return field.isEmpty ? "" : replacement }
        return "\(field[...mark])\(replacement)"
    }
}
