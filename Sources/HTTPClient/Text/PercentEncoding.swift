/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// `%0A`, with digits in upper case.
    package static func encoded(_ byte: UInt8) -> String {
        String(decoding: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]], as: UTF8.self)
    }

    /// Decodes a text. Invalid sequences stay as they are.
    package static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
        decode(text) { [$0] } ?? []
    }

    /// Decodes a text.
    /// - Returns: nil where two hexadecimal digits do not follow a percent sign.
    package static func validDecoded(_ text: some Collection<UInt8>) -> [UInt8]? {
        decode(text) { _ in nil }
    }

    /// - Parameter invalid: what stands for a percent sign without two digits; nil: the text is invalid.
    private static func decode(_ text: some Collection<UInt8>, invalid: (UInt8) -> [UInt8]?) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            if digits.count == 2, digits.allSatisfy(\.isHexadecimal),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                guard let stand = invalid(byte) else { return nil }
                bytes += stand
            }
        }
        return bytes
    }
}
