/// Comparing and dividing text by its UTF-8 bytes, as the kernel does it with paths.
///
/// `==`, `hasPrefix`, `firstIndex(of:)` and `split` of a string compare characters (Unicode's canonical
/// equivalence). For them a slash before a combining mark is not a slash, and two names of different bytes
/// can be equal.
extension StringProtocol where UTF8View: BidirectionalCollection {
    /// Whether both texts have the same bytes.
    package func hasSameBytes(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    package func beginsWithBytes(of prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    package func endsWithBytes(of suffix: some StringProtocol) -> Bool {
        utf8.reversed().starts(with: suffix.utf8.reversed())
    }

    /// The last name of a path, without slashes at the end; empty where there is none.
    package var lastPathName: SubSequence {
        guard let last = utf8.lastIndex(where: { $0 != .slash }) else { return self[endIndex...] }
        let end = utf8.index(after: last)
        let start = utf8[..<end].lastIndex(of: .slash).map { utf8.index(after: $0) } ?? startIndex
        return self[start..<end]
    }

    /// The path with `%` and two digits in lower case for each byte that is neither unreserved (RFC 3986, section 2.3)
    /// nor a slash.
    package var percentEncodedPath: String {
        let parts = utf8.map { $0.isPathCharacter ? String(Unicode.Scalar($0)) : "%\(Hexadecimal.text([$0]))" }
        return parts.joined()
    }

    /// The path up to its last slash, without it: `/` for a name in the root, empty where there is no slash.
    package var parentPath: String {
        guard let slash = utf8.lastIndex(of: .slash) else { return "" }
        return slash == startIndex ? "/" : String(self[..<slash])
    }
}

extension String {
    /// Quotes bytes for a shell, in ASCII: `$'n\xff.txt'`.
    package init(shellQuoting bytes: some Sequence<UInt8>) {
        var text = "$'"
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\\"): text += "\\" + String(Unicode.Scalar(byte))
            case 0x0A: text += "\\n"
            case 0x20..<0x7F: text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "\\x\(Hexadecimal.text([byte]))"
            }
        }
        self = text + "'"
    }
}

extension UInt8 {
    package static let slash = UInt8(ascii: "/")

    /// Unreserved (RFC 3986, section 2.3), or a slash.
    var isPathCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~/".utf8.contains(self)
        }
    }
}

extension StringProtocol {
    /// The start of a text for an error message: at most 80 bytes of UTF-8, and “…” where something is left out. A
    /// control character is shown as U+FFFD, so that a text does not control the terminal.
    package var excerpt: String {
        var result = ""
        var bytes = 0
        for scalar in unicodeScalars {
            bytes += UTF8.width(scalar)
            guard bytes <= 80 else { return result + "…" }
            let isControl = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
            result.unicodeScalars.append(isControl ? "\u{FFFD}" : scalar)
        }
        return result
    }

    /// With a full stop at the end, unless the text ends as a sentence already.
    package var withFullStop: String { last.map { ".?!".contains($0) } ?? true ? String(self) : "\(self)." }
}
