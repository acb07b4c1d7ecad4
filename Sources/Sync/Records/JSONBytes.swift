/// The bytes of a JSON text that a reader looks at.
typealias JSONBytes = UnsafeBufferPointer<UInt8>

extension JSONBytes {
    /// Eight bytes, the first in the lowest bits. The caller knows that they exist.
    @inline(__always)
    func word(at position: Int) -> UInt64 {
        guard let baseAddress else { return 0 }
        return UInt64(littleEndian: UnsafeRawPointer(baseAddress + position).loadUnaligned(as: UInt64.self))
    }

    /// White space of RFC 8259, section 2.
    @inline(__always)
    func skippingSpace(from start: Int) -> Int {
        var position = start
        while position < count, self[position].isJSONSpace { position += 1 }
        return position
    }
}

/// Searches in eight bytes at once: the highest bit of a byte in the result marks a hit. The lowest mark is
/// always right; marks above it may be wrong, because a subtraction borrows from the next byte.
enum ByteSearch {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080
    private static let quotes = ones &* UInt64(UInt8(ascii: "\""))
    private static let backslashes = ones &* UInt64(UInt8(ascii: "\\"))
    private static let newlines = ones &* 0x0A

    /// A quote, a backslash, a control character or a byte beyond ASCII.
    @inline(__always)
    static func specials(_ word: UInt64) -> UInt64 {
        let controls = word &- (ones &* 0x20)
        let quote = (word ^ quotes) &- ones
        let backslash = (word ^ backslashes) &- ones
        return ((controls | quote | backslash) & ~word | word) & highs
    }

    /// A quote or a backslash.
    @inline(__always)
    static func stringEnds(_ word: UInt64) -> UInt64 {
        let quote = word ^ quotes
        let backslash = word ^ backslashes
        return ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash) & highs
    }

    /// A line feed.
    @inline(__always)
    static func newlines(_ word: UInt64) -> UInt64 {
        let newline = word ^ newlines
        return (newline &- ones) & ~newline & highs
    }
}

extension UInt8 {
    @inline(__always)
    var isJSONSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }

    @inline(__always)
    var isASCIIDigit: Bool { self &- 0x30 < 10 }

}
