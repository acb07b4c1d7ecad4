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
