/// Text of digits and letters, which needs no escape in any place where a token is written.
enum Base62 {
    static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    /// The number that bytes are, most significant first.
    /// - Parameter count: of the digits; more significant ones are left out.
    static func text(_ bytes: [UInt8], count: Int) -> String {
        var number = bytes
        var digits: [UInt8] = []
        for _ in 0..<count {
            var remainder = 0
            for index in number.indices {
                let value = remainder << 8 | Int(number[index])
                number[index] = UInt8(value / 62)
                remainder = value % 62
            }
            digits.append(alphabet[remainder])
        }
        return String(decoding: digits.reversed(), as: UTF8.self)
    }

    /// Random text from the generator of the system.
    /// - Parameter bytes: of randomness; every value of them is another text.
    static func random(bytes: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        let random = (0..<bytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        // A digit has log2(62) = 5.954 bits.
        return text(random, count: (bytes * 8 * 1000 + 5953) / 5954)
    }
}
