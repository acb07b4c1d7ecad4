/// Base64 with padding (RFC 4648). Foundation's would cost 10 MB of resident memory in every process.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var word: UInt32 = 0
        var held = 0
        for byte in bytes {
            word = word << 8 | UInt32(byte)
            held += 1
            if held == 3 {
                append(word, digits: 4, to: &text)
                (word, held) = (0, 0)
            }
        }
        if held > 0 {
            append(word << UInt32(8 * (3 - held)), digits: held + 1, to: &text)
            text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - held))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: nil where `text` is not base64.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (word, digits) = (UInt32(0), 0)
        for digit in text where digit != UInt8(ascii: "=") {
            guard let value = alphabet.firstIndex(of: digit) else { return nil }
            word = word << 6 | UInt32(value)
            digits += 1
            if digits == 4 {
                bytes += [UInt8(word >> 16 & 0xFF), UInt8(word >> 8 & 0xFF), UInt8(word & 0xFF)]
                (word, digits) = (0, 0)
            }
        }
        switch digits {
        case 0: return bytes
        case 2: return bytes + [UInt8(word >> 4 & 0xFF)]
        case 3: return bytes + [UInt8(word >> 10 & 0xFF), UInt8(word >> 2 & 0xFF)]
        default: return nil
        }
    }

    private static func append(_ word: UInt32, digits: Int, to text: inout [UInt8]) {
        for index in 0..<digits { text.append(alphabet[Int(word >> UInt32(18 - 6 * index) & 63)]) }
    }
}
