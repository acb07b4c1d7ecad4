internal import HTTPClient

/// `Content-Disposition` (RFC 6266): `attachment; filename="a.txt"; filename*=UTF-8''%e2%82%ac.txt`.
enum ContentDisposition {
    /// The name that a server gives a file: `filename*`, else `filename`. The text is not safe as a name in a
    /// directory; ``DownloadName/sanitised(_:)`` makes it so.
    /// - Returns: nil where there is no name.
    static func fileName(_ field: String) -> String? {
        var plain: String?
        var extended: String?
        for parameter in parameters(field) {
            switch parameter.name {
            case "filename" where plain == nil: plain = parameter.value
            case "filename*" where extended == nil: extended = ExtendedValue.text(parameter.value)
            default: break
            }
        }
        return extended ?? plain
    }

    /// The parts between semicolons that have a name and a value. A value in quotes has no quotes here.
    private static func parameters(_ field: String) -> [(name: String, value: String)] {
        Array(field.utf8).parts(separatedOutsideQuotesBy: UInt8(ascii: ";")).compactMap { part in
            guard let mark = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = String(decoding: part[..<mark], as: UTF8.self).trimmed.lowercased()
            let value = String(decoding: part[(mark + 1)...], as: UTF8.self).trimmed
            return (name, unquoted(value))
        }
    }

    /// Removes quotes, and the backslash before a quote or a backslash. Any other backslash stays, because
    /// servers send `filename="C:\a.txt"` without escapes (RFC 6266, appendix D).
    private static func unquoted(_ value: String) -> String {
        guard value.utf8.first == UInt8(ascii: "\"") else { return value }
        var bytes: [UInt8] = []
        var rest = Array(value.utf8.dropFirst())[...]
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let next = rest.first, "\"\\".utf8.contains(next) {
                bytes.append(next)
                rest.removeFirst()
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
