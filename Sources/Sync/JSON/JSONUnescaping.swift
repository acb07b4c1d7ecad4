internal import Commands

/// The escapes of JSON strings (RFC 8259, section 7). Pure.
enum JSONUnescaping {
    /// Appends the bytes between the quotes of a string, unescaped. Half of a surrogate pair and an escape
    /// that JSON does not have become U+FFFD, as ``RecordReader`` has refused both before.
    static func append(_ bytes: JSONBytes, _ range: Range<Int>, to text: inout [UInt8]) {
        var position = range.lowerBound
        while position < range.upperBound {
            let byte = bytes[position]
            position += 1
            guard byte == UInt8(ascii: "\\"), position < range.upperBound else {
                text.append(byte)
                continue
            }
            let escape = bytes[position]
            position += 1
            switch escape {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"):
                let scalar = scalar(bytes, &position, range.upperBound) ?? "\u{FFFD}"
                text.append(contentsOf: Array(String(scalar).utf8))
            default: text.append(escape)
            }
        }
    }

    /// Reads the digits after `\u`, and the second half of a surrogate pair.
    private static func scalar(_ bytes: JSONBytes, _ position: inout Int, _ end: Int) -> Unicode.Scalar? {
        guard let first = unit(bytes, position, end) else { return nil }
        position += 4
        guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) }
        guard position + 2 <= end, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u"),
            let second = unit(bytes, position + 2, end), (0xDC00..<0xE000).contains(second)
        else { return nil }
        position += 6
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    /// Four hexadecimal digits; nil where one is missing.
    static func unit(_ bytes: JSONBytes, _ start: Int, _ end: Int) -> UInt32? {
        guard start + 4 <= end else { return nil }
        var value: UInt32 = 0
        for position in start..<start + 4 {
            guard let digit = bytes[position].hexadecimalValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
