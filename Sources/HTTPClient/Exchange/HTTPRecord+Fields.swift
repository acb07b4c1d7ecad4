internal import NIOHTTP1

extension HTTPRecord {
    /// The values of all header fields of that name in the final response.
    package func fields(_ name: String) -> [String] { head?.headers[name] ?? [] }

    /// The members of a comma-separated list (RFC 9110, section 5.6.1), in lower case.
    package func list(_ name: String) -> [String] {
        fields(name).flatMap { $0.split(separator: ",") }.map { $0.trimmed.lowercased() }
    }

    /// A count of bytes; nil where the field is missing or is not one.
    package func count(_ name: String) -> Int64? {
        guard let text = header(name)?.trimmed, !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text)
    }
}
