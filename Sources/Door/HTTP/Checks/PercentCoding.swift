internal import HTTPClient

/// The escapes of URLs (RFC 3986, section 2.1).
package enum PercentCoding {
    /// - Parameter decodesPlus: whether `+` is a space, as in forms.
    /// - Returns: nil for a bad escape, a NUL, and bytes that are not UTF-8.
    package static func decode(_ text: some StringProtocol, decodesPlus: Bool = false) -> String? {
        let encoded = text.utf8.map { decodesPlus && $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        guard let bytes = PercentEncoding.validDecoded(encoded), !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
