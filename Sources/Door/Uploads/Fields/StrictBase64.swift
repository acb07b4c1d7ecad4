internal import HTTPClient

/// Base64 of a client: with padding, and nothing else (RFC 4648, section 4).
enum StrictBase64 {
    /// - Returns: nil for a text with another length than a multiple of four, with padding elsewhere than at its end,
    ///   or with other characters.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count % 4 == 0 else { return nil }
        let body = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.utf8.dropFirst(body.count)
        guard padding.count <= 2, padding.allSatisfy({ $0 == UInt8(ascii: "=") }) else { return nil }
        return Base64.decode(body)
    }
}
