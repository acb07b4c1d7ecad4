internal import HTTPClient

/// One directive of a `Cache-Control` field: `token [ "=" ( token / quoted-string ) ]` (RFC 9111, section
/// 5.2).
struct CacheDirective: Sendable, Equatable {
    enum Argument: Sendable, Equatable {
        case none
        /// A token, or a quoted string without its quotes. Recipients accept both forms.
        case text(String)
        /// A space beside the equals sign, or text after a quoted string.
        case malformed
    }

    /// In lower case.
    var name: String
    var argument: Argument

    /// The directives of one field value.
    /// - Returns: also whether a quoted string has no end. Its text is then divided at commas as well, so
    ///   that a `no-store` in it counts.
    static func all(in value: String) -> (directives: [CacheDirective], isMalformed: Bool) {
        let bytes = Array(value.utf8)
        var parts: [ArraySlice<UInt8>] = []
        var (start, index, isQuoted) = (0, 0, false)
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\\") where isQuoted: index += 1
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted:
                parts.append(bytes[start..<index])
                start = index + 1
            default: break
            }
            index += 1
        }
        parts += isQuoted ? bytes[start...].split(separator: UInt8(ascii: ",")) : [bytes[start...]]
        return (parts.compactMap(CacheDirective.init), isQuoted)
    }

    private init?(_ bytes: ArraySlice<UInt8>) {
        let text = String(decoding: bytes, as: UTF8.self).trimmed
        guard !text.isEmpty else { return nil }
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            (name, argument) = (text.lowercased(), .none)
            return
        }
        let left = text[..<mark]
        name = left.trimmed.lowercased()
        let right = text[text.utf8.index(after: mark)...]
        let hasSpace = left.utf8.last.map(Self.isSpace) == true || right.utf8.first.map(Self.isSpace) == true
        argument = hasSpace ? .malformed : Self.argument(right.utf8)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func argument(_ bytes: Substring.UTF8View) -> Argument {
        guard bytes.first == UInt8(ascii: "\"") else { return .text(String(Substring(bytes))) }
        var text: [UInt8] = []
        var rest = bytes.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\\"): if let escaped = rest.popFirst() { text.append(escaped) }
            case UInt8(ascii: "\""): return rest.isEmpty ? .text(String(decoding: text, as: UTF8.self)) : .malformed
            default: text.append(byte)
            }
        }
        return .malformed
    }
}
