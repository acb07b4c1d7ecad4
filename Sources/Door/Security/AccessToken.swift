internal import Crypto
internal import Store

/// A secret that gives a client of the door its rights: `slu_<id>_<secret><checksum>`, 64 characters.
///
/// The prefix and the checksum let scanners find tokens in public files without false alarms, as those of GitHub do. The
/// store has only ``digest``: SHA-256 is enough for 256 random bits.
package struct AccessToken: Sendable, Equatable {
    /// Public: logs, lists and reasons may show it. 10 of a-z and 0-9.
    package let id: String
    /// The whole token. Never logged, and printed once.
    package let text: String

    static let prefix = "slu_"
    private static let idLength = 10
    /// Base62 digits of 32 bytes.
    private static let secretLength = 43
    /// Base62 digits of a CRC-32.
    private static let checksumLength = 6
    private static let length = prefix.utf8.count + idLength + 1 + secretLength + checksumLength

    /// Makes a random token.
    package init() {
        let letters = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        id = String(decoding: (0..<Self.idLength).map { _ in letters.randomElement() ?? letters[0] }, as: UTF8.self)
        let start = "\(Self.prefix)\(id)_\(Base62.random(bytes: 32))"
        text = start + Self.checksum(of: start)
    }

    /// Reads a token that a client sent.
    /// - Throws: ``AccessTokenError`` for any other form, and where the checksum differs.
    package init(parsing text: some StringProtocol) throws(AccessTokenError) {
        let bytes = Array(text.utf8)
        guard bytes.starts(with: Self.prefix.utf8) else { throw .otherForm }
        guard bytes.count == Self.length else { throw .incomplete }
        let idStart = Self.prefix.utf8.count
        let idEnd = idStart + Self.idLength
        let id = bytes[idStart..<idEnd]
        guard
            id.allSatisfy({
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }), bytes[idEnd] == UInt8(ascii: "_"), bytes[(idEnd + 1)...].allSatisfy(Base62.isDigit)
        else { throw .incomplete }
        let start = String(decoding: bytes.dropLast(Self.checksumLength), as: UTF8.self)
        guard bytes.suffix(Self.checksumLength).elementsEqual(Self.checksum(of: start).utf8) else { throw .incomplete }
        self.id = String(decoding: id, as: UTF8.self)
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    /// SHA-256 of the whole text, 32 bytes.
    package var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    private static func checksum(of text: String) -> String {
        Base62.text(CRC32(.iso3309, of: text.utf8).bytes, count: checksumLength)
    }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the secret.
    package var description: String { "\(Self.prefix)\(id)_…" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// Why a text is not an access token.
package enum AccessTokenError: Error, Sendable, Equatable, CustomStringConvertible {
    /// It does not begin as one.
    case otherForm
    /// A part is missing, or a character differs.
    case incomplete

    package var description: String {
        switch self {
        case .otherForm: "this is not a token of Sluice, which begins with “\(AccessToken.prefix)”"
        case .incomplete: "the token is not complete, or a character of it differs; copy all of it"
        }
    }
}

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
