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
