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
            guard character.hexadecimalValue != nil else { return nil }
            // In lower case. Digits have the bit already.
            digits.append(character | 0x20)
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
    package var lastByte: UInt8 { lastBytes.last ?? 0 }

    /// The whole bytes at the end of an id that ends with these digits.
    package var lastBytes: [UInt8] { Hexadecimal.bytes(digits.suffix(digits.utf8.count / 2 * 2)) ?? [] }

    private func filled(with nibble: UInt64) -> CommandID {
        var words: [UInt64] = [0, 0]
        let digits = Array(digits.utf8)
        for index in 0..<32 {
            let value = index < digits.count ? digits[index].hexadecimalValue.map { UInt64($0) } : nil
            words[index / 16] = words[index / 16] << 4 | (value ?? nibble)
        }
        return CommandID(high: words[0], low: words[1])
    }
}

extension CommandIDPart: CustomStringConvertible {
    /// The digits; a whole id with its dashes.
    public var description: String { id?.description ?? digits }
}
