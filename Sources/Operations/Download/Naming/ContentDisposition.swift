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
        parts(Array(field.utf8)).compactMap { part in
            guard let mark = part.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = String(decoding: part[..<mark], as: UTF8.self).trimmed.lowercased()
            let value = String(decoding: part[(mark + 1)...], as: UTF8.self).trimmed
            return (name, unquoted(value))
        }
    }

    /// The parts between semicolons that are outside quotes.
    private static func parts(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var (start, isQuoted, isEscaped) = (0, false, false)
        for (index, byte) in bytes.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: ";"), !isQuoted {
                parts.append(bytes[start..<index])
                start = index + 1
            }
        }
        return parts + [bytes[start...]]
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
