internal import Commands
internal import HTTPClient
internal import Transfers

/// The name of a downloaded file in its directory. A name from outside never leaves the directory, never
/// makes one, and is never hidden.
enum DownloadName {
    /// The maximum bytes of a name. `.<name>.<id>.<claim>.part` fits into the 255 bytes of a file system.
    static let maxBytes = 200
    /// The name where there is no usable one.
    static let fallback = "download"

    /// The last segment of the path, decoded. A segment that is not UTF-8 keeps its percent signs.
    static func ofURL(_ url: ResourceURL) -> String {
        let start = url.path.utf8.lastIndex(of: .slash).map { url.path.utf8.index(after: $0) } ?? url.path.startIndex
        let segment = url.path[start...]
        let decoded = PercentEncoding.validDecoded(segment.utf8).flatMap { String(validating: $0, as: UTF8.self) }
        return sanitised(decoded ?? String(segment))
    }

    /// The name that the server gives; nil where the field has none.
    static func ofServer(contentDisposition field: String) -> String? {
        ContentDisposition.fileName(field).map { sanitised($0) }
    }

    /// Makes a text safe: the last component after `/` and `\`; `_` for a control character, a separator of
    /// lines, a control of writing direction and each leading dot; at most ``maxBytes``, cut at a character.
    static func sanitised(_ text: String) -> String {
        let component =
            Array(text.unicodeScalars).split(
                omittingEmptySubsequences: false, whereSeparator: { $0 == "/" || $0 == "\\" }
            ).last ?? []
        let isSpace: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\t" }
        let trimmed = component.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
        let leadingDots = trimmed.prefix { $0 == "." }.count
        // Nothing, “.” or “..”.
        guard leadingDots < trimmed.count || leadingDots > 2 else { return fallback }
        var name = String.UnicodeScalarView()
        name.append(contentsOf: repeatElement("_", count: leadingDots))
        name.append(contentsOf: trimmed.dropFirst(leadingDots).map { isPermitted($0) ? $0 : "_" })
        return cut(String(name))
    }

    private static func isPermitted(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C: false
        default: true
        }
    }

    /// Cuts between characters; within one only where the first alone is too long.
    private static func cut(_ name: String) -> String {
        guard name.utf8.count > maxBytes else { return name }
        var start = ""
        var count = 0
        for character in name {
            count += character.utf8.count
            guard count <= maxBytes else { break }
            start.append(character)
        }
        guard start.isEmpty else { return start }
        var scalars = String.UnicodeScalarView()
        count = 0
        for scalar in name.unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= maxBytes else { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }
}

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

/// The value of a parameter with a character set (RFC 8187, section 3.2): `UTF-8'en'%e2%82%ac%20rates`.
enum ExtendedValue {
    /// - Returns: nil for a malformed value, an unknown character set, and bytes that are not valid in it.
    static func text(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2].utf8.allSatisfy(isPermitted),
            let bytes = PercentEncoding.validDecoded(parts[2].utf8)
        else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1":
            var scalars = String.UnicodeScalarView()
            scalars.append(contentsOf: bytes.map { Unicode.Scalar($0) })
            return String(scalars)
        default: return nil
        }
    }

    /// `value-chars`, or a character that servers leave unencoded by mistake and that cannot be misread.
    private static func isPermitted(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && !"\"\\".utf8.contains(byte)
    }
}
