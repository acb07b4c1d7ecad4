internal import HTTPClient

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
