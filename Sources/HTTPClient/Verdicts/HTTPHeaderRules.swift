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
