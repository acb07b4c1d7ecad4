/// The id of a command: a UUID of version 7 (RFC 9562, section 5.7).
///
/// Such ids sort by the time they were made, so that inserts go to the end of a B-tree. The last byte names
/// the shard, see ``shard(of:)``. An id that was read from text may have any version.
public struct CommandID: Hashable, Sendable {
    /// Bytes 0–7, big-endian: 48 bits of Unix milliseconds, the version, 12 random bits.
    public let high: UInt64
    /// Bytes 8–15, big-endian: the variant, 54 random bits, and the shard byte.
    public let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Draws a new id.
    /// - Parameters:
    ///   - now: the time that the id carries. The default is the wall clock. A time before 1970 counts as
    ///     1970.
    ///   - shardByte: the last byte. Nil, the default: random. Commands of one unique key share it, and so a
    ///     shard.
    public init(now: Timestamp = .now, shardByte: UInt8? = nil) {
        var random = SystemRandomNumberGenerator()
        self.init(now: now, shardByte: shardByte, using: &random)
    }

    package init(now: Timestamp, shardByte: UInt8?, using random: inout some RandomNumberGenerator) {
        let time = UInt64(clamping: now.milliseconds) & 0xFFFF_FFFF_FFFF
        let high = time << 16 | 0x7000 | random.next() & 0x0FFF
        let noise: UInt64 = random.next()
        var low = noise & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        if let shardByte { low = low & ~0xFF | UInt64(shardByte) }
        self.init(high: high, low: low)
    }

    /// The last byte, which names the shard.
    package var shardByte: UInt8 { UInt8(truncatingIfNeeded: low) }

    /// Reads the 36 characters `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` in either case (RFC 9562, section 4).
    /// - Returns: nil for anything else. The version and the variant are not checked.
    public init?(_ text: some StringProtocol) {
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        var position = 0
        for character in text.utf8 {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard character == UInt8(ascii: "-") else { return nil }
            } else {
                guard let nibble = character.hexadecimalValue.map({ UInt64($0) }), digits < 32 else { return nil }
                if digits < 16 { words.0 = words.0 << 4 | nibble } else { words.1 = words.1 << 4 | nibble }
                digits += 1
            }
            position += 1
        }
        guard digits == 32, position == 36 else { return nil }
        self.init(high: words.0, low: words.1)
    }

    /// Reads 16 bytes; nil for any other number of them.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            if index < 8 { words.0 = words.0 << 8 | UInt64(byte) } else { words.1 = words.1 << 8 | UInt64(byte) }
        }
        self.init(high: words.0, low: words.1)
    }

    /// The 16 bytes in network order, as the store has them.
    package var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            for index in 0..<8 {
                buffer[index] = UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * index))
                buffer[index + 8] = UInt8(truncatingIfNeeded: low >> UInt64(56 - 8 * index))
            }
            count = 16
        }
    }

    /// The number of the shard that holds this command: the last byte mod `count`, from 0.
    /// - Parameter count: the shards of the store, a power of two from 1 to 256. It is not checked.
    public func shard(of count: Int) -> Int { Int(low & 0xFF) & (count - 1) }

    /// When the id was made, in whole milliseconds by the clock of the machine that made it. Only an id of
    /// version 7 has this time.
    public var madeAt: Timestamp { Timestamp(milliseconds: Int64(high >> 16)) }
}

extension CommandID {
    /// Hashes only the last eight bytes, which are random but for the variant and, with a unique key, the
    /// last byte.
    public func hash(into hasher: inout Hasher) { hasher.combine(low) }

    /// One multiplication is enough to scatter bits that are random already. With the standard hash a worker
    /// spent 8 % of its time hashing, because it looks each command up a dozen times.
    public func _rawHashValue(seed: Int) -> Int {
        let product = (low ^ UInt64(bitPattern: Int64(seed))) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: product ^ product >> 32)
    }
}

extension CommandID: Comparable {
    /// Compares the 16 bytes, and so first the time at which the ids were made.
    public static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

extension CommandID: CustomStringConvertible {
    /// The 36 characters in lower case, with four dashes (RFC 9562, section 4).
    public var description: String {
        String(unsafeUninitializedCapacity: 36) { buffer in
            write(into: buffer)
            return 36
        }
    }

    /// Writes the 36 characters of the lower-case form at the start of `buffer`.
    package func write(into buffer: UnsafeMutableBufferPointer<UInt8>) {
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        let (first, second) = (Self.digits(high >> 32), Self.digits(high))
        let (third, fourth) = (Self.digits(low >> 32), Self.digits(low))
        bytes.storeBytes(of: first, toByteOffset: 0, as: UInt64.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: second), toByteOffset: 9, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: second >> 32), toByteOffset: 14, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: third), toByteOffset: 19, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: third >> 32), toByteOffset: 24, as: UInt32.self)
        bytes.storeBytes(of: fourth, toByteOffset: 28, as: UInt64.self)
        for dash in [8, 13, 18, 23] { bytes[dash] = UInt8(ascii: "-") }
    }

    /// The low half of a word as eight hexadecimal digits in memory order, computed in parallel: each event
    /// has two ids.
    private static func digits(_ word: UInt64) -> UInt64 {
        var digits = UInt64(UInt32(truncatingIfNeeded: word).byteSwapped)
        digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
        digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
        digits = digits >> 4 & 0x000F_000F_000F_000F | (digits & 0x000F_000F_000F_000F) << 8
        let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (digits + 0x3030_3030_3030_3030 + letters * 0x27).littleEndian
    }
}

extension CommandID: Codable {
    /// Decodes the text of ``description``, in either case.
    /// - Throws: `DecodingError.dataCorrupted` for a text that is not a UUID.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = CommandID(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "“\(text)” is not a UUID")
        }
        self = id
    }

    /// Encodes ``description`` as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

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
