extension UInt8 {
    package var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    package var isLetter: Bool { self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "z") }
    package var isHexadecimal: Bool {
        isDigit || (self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "f"))
    }
    /// `unreserved` of RFC 3986, section 2.3.
    package var isUnreserved: Bool { isLetter || isDigit || "-._~".utf8.contains(self) }
    /// `tchar` of RFC 9110, section 5.6.2.
    package var isTokenCharacter: Bool { isLetter || isDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}

extension StringProtocol {
    /// The text without the spaces and tabs at both ends, which HTTP ignores (RFC 9110, section 5.5).
    package var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return String(start[...last])
    }
}

extension Collection<UInt8> {
    /// The parts between separators that are outside quotes (quoted-string, RFC 9110, section 5.6.4).
    package func parts(separatedOutsideQuotesBy separator: UInt8) -> [SubSequence] {
        var parts: [SubSequence] = []
        var (start, isQuoted, isEscaped) = (startIndex, false, false)
        for index in indices {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, self[index] == UInt8(ascii: "\\") {
                isEscaped = true
            } else if self[index] == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if self[index] == separator, !isQuoted {
                parts.append(self[start..<index])
                start = self.index(after: index)
            }
        }
        return parts + [self[start...]]
    }
}

/// The header fields that a producer may set (RFC 9110, section 5).
package enum HTTPHeaderRules {
    /// - Returns: why this field cannot be set, in a sentence; nil where it can.
    package static func objection(to name: String, value: String) -> String? {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else {
            return "“\(name.prefix(80))” is not a header name; use letters, digits and !#$%&'*+-.^_`|~ only"
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            return "the value of the header “\(name)” has a line break or another control character in it"
        }
        switch name.lowercased() {
        case "host", "content-length", "transfer-encoding":
            return "the header “\(name)” follows from the URL and the file and cannot be set"
        case "idempotency-key":
            return "the header “\(name)” carries the command's id and cannot be set"
        case "connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "proxy-authenticate",
            "proxy-authorization", "http2-settings", "expect":
            return "the header “\(name)” concerns the connection, not the file, and cannot be set"
        default: return nil
        }
    }
}
