internal import HTTPClient

/// `Location` of a redirect (RFC 9110, section 10.2.2).
package enum LocationField {
    private static let maxShownCharacters = 300

    /// Percent-encodes bytes that servers often leave as they are and a URL must not have: spaces, bytes
    /// beyond ASCII, and square brackets after the host.
    package static func encoded(_ reference: String) -> String {
        var text = ""
        let host = hostEnd(reference)
        for (index, byte) in reference.utf8.enumerated() {
            let isBracket = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
            if byte <= 0x20 || byte >= 0x7F || "\"<>\\^`{|}".utf8.contains(byte) || isBracket && index >= host {
                text += PercentEncoding.encoded(byte)
            } else {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }

    /// The URL in a message: in one line, without its query, which often has a signature, and without a user
    /// and password.
    package static func shown(_ reference: String) -> String {
        var text = encoded(reference.trimmed)
        let mark = text.firstIndex { $0 == "?" || $0 == "#" } ?? text.endIndex
        text = String(text[..<mark])
        if let slashes = text.firstRange(of: "//") {
            let authority = text[slashes.upperBound...].prefix { $0 != "/" }
            if let at = authority.lastIndex(of: "@") { text.replaceSubrange(authority.startIndex..<at, with: "…") }
        }
        return text.count > maxShownCharacters ? text.prefix(maxShownCharacters) + "…" : text
    }

    /// The number of bytes up to the end of the host: 0 for a reference without one.
    private static func hostEnd(_ reference: String) -> Int {
        let bytes = Array(reference.utf8)
        let scheme = bytes.prefix { !"/?#".utf8.contains($0) }
        guard scheme.isEmpty || scheme.last == UInt8(ascii: ":"), bytes.dropFirst(scheme.count).starts(with: "//".utf8)
        else { return 0 }
        let start = scheme.count + 2
        return start + bytes.dropFirst(start).prefix { !"/?#".utf8.contains($0) }.count
    }
}
