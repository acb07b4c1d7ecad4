/// A part of the text of a command's id, by which a person names the command: its beginning, its end or a part
/// in between, in hexadecimal digits. Ids of the same minute share their first digits, so the end tells
/// commands apart sooner.
public struct CommandIDPart: Hashable, Sendable {
    /// Fewer digits name too many commands.
    public static let minDigits = 4

    /// 4 to 32 hexadecimal digits in lower case, without dashes.
    public let digits: String

    /// Reads digits in either case. Dashes are left out, and so is an ellipsis before them, which screens and
    /// tables show.
    /// - Returns: nil for fewer than 4 or more than 32 digits, and for any other character.
    public init?(_ text: some StringProtocol) {
        var rest = Substring(text)
        for ellipsis in ["…", "..."] where rest.hasPrefix(ellipsis) { rest = rest.dropFirst(ellipsis.count) }
        var digits: [UInt8] = []
        for character in rest.utf8 where character != UInt8(ascii: "-") {
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): digits.append(character)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(character | 0x20)
            default: return nil
            }
        }
        guard (Self.minDigits...32).contains(digits.count) else { return nil }
        self.digits = String(decoding: digits, as: UTF8.self)
    }

    /// The whole of an id.
    public init(_ id: CommandID) { digits = id.description.filter { $0 != "-" } }

    /// The id, where the part is all of it.
    public var id: CommandID? { digits.utf8.count == 32 ? smallest : nil }

    /// The smallest id that begins with these digits.
    package var smallest: CommandID { filled(with: 0) }
    /// The greatest id that begins with these digits.
    package var greatest: CommandID { filled(with: 15) }

    /// The last byte of an id that ends with these digits, which names the shard.
    package var lastByte: UInt8 { UInt8(truncatingIfNeeded: Self.value(digits.utf8.suffix(2))) }

    /// The whole bytes at the end of an id that ends with these digits.
    package var lastBytes: [UInt8] {
        let even = Array(digits.utf8.suffix(digits.utf8.count / 2 * 2))
        return stride(from: 0, to: even.count, by: 2).map {
            UInt8(truncatingIfNeeded: Self.value(even[$0..<$0 + 2]))
        }
    }

    private func filled(with nibble: UInt64) -> CommandID {
        var words: [UInt64] = [0, 0]
        let digits = Array(digits.utf8)
        for index in 0..<32 {
            words[index / 16] =
                words[index / 16] << 4
                | (index < digits.count ? Self.value(digits[index..<index + 1]) : nibble)
        }
        return CommandID(high: words[0], low: words[1])
    }

    private static func value(_ digits: some Sequence<UInt8>) -> UInt64 {
        digits.reduce(0) { $0 << 4 | UInt64($1 < UInt8(ascii: "a") ? $1 & 0x0F : $1 - UInt8(ascii: "a") + 10) }
    }
}

extension CommandIDPart: CustomStringConvertible {
    /// The digits; a whole id with its dashes.
    public var description: String { id?.description ?? digits }
}
