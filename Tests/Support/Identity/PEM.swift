/// Encodes bytes as text (RFC 7468).
enum PEM {
    static func text(_ label: String, _ bytes: [UInt8]) -> String {
        var text = "-----BEGIN \(label)-----\n"
        var digits = base64(bytes)[...]
        while !digits.isEmpty {
            text += digits.prefix(64) + "\n"
            digits = digits.dropFirst(64)
        }
        return text + "-----END \(label)-----\n"
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var digits: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for index in 0..<4 {
                digits.append(index <= group.count ? alphabet[Int(bits >> 18 & 0x3F)] : UInt8(ascii: "="))
                bits <<= 6
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
