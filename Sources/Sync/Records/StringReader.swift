internal import Commands

/// Reads the strings of a JSON value: finds their ends, and checks escapes and UTF-8.
struct StringReader: Sendable {
    /// The first flaw of the strings that were read.
    var flaw: RecordReader.Flaw?
    /// Whether the last string has an escape.
    private(set) var hasEscape = false

    /// - Parameter start: after the opening quote.
    /// - Returns: the position of the closing quote.
    @inline(__always)
    mutating func read(_ bytes: JSONBytes, _ start: Int) throws(RecordReader.Failure) -> Int {
        hasEscape = false
        var position = start
        while true {
            while position + 8 <= bytes.count {
                let hits = ByteSearch.specials(bytes.word(at: position))
                guard hits == 0 else {
                    position += hits.trailingZeroBitCount >> 3
                    break
                }
                position += 8
            }
            guard position < bytes.count else { throw .incomplete }
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") { return position }
            if byte == UInt8(ascii: "\\") {
                hasEscape = true
                position = try escape(bytes, position + 1)
            } else if byte >= 0x80 {
                position = sequence(bytes, position)
            } else if byte < 0x20 {
                throw .syntax(at: position, "a control character in a string must be escaped")
            } else {
                position += 1
            }
        }
    }

    /// - Parameter start: after the backslash.
    /// - Returns: the position after the escape.
    private mutating func escape(_ bytes: JSONBytes, _ start: Int) throws(RecordReader.Failure) -> Int {
        guard start < bytes.count else { throw .incomplete }
        switch bytes[start] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 1
        case UInt8(ascii: "u"): break
        default: throw .syntax(at: start, "an escape that JSON does not have")
        }
        let first = try unit(bytes, start + 1)
        guard (0xD800..<0xE000).contains(first) else { return start + 5 }
        // A pair is complete only with its second half right behind the first.
        guard first < 0xDC00, start + 6 < bytes.count, bytes[start + 5] == UInt8(ascii: "\\"),
            bytes[start + 6] == UInt8(ascii: "u")
        else {
            flaw = flaw ?? .loneSurrogate
            return start + 5
        }
        guard (0xDC00..<0xE000).contains(try unit(bytes, start + 7)) else {
            flaw = flaw ?? .loneSurrogate
            return start + 5
        }
        return start + 11
    }

    private func unit(_ bytes: JSONBytes, _ start: Int) throws(RecordReader.Failure) -> UInt32 {
        if let unit = JSONUnescaping.unit(bytes, start, bytes.count) { return unit }
        for position in start..<min(start + 4, bytes.count) where bytes[position].hexadecimalValue == nil {
            throw .syntax(at: position, "expected four hexadecimal digits")
        }
        throw .incomplete
    }

    /// Checks one UTF-8 sequence of two to four bytes (Unicode 15, table 3-7).
    /// - Returns: the position after it, or after its first byte where it is invalid.
    private mutating func sequence(_ bytes: JSONBytes, _ start: Int) -> Int {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch bytes[start] {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default:
            flaw = flaw ?? .invalidUTF8
            return start + 1
        }
        guard start + length <= bytes.count, second.contains(bytes[start + 1]),
            length < 3 || bytes[start + 2] & 0xC0 == 0x80, length < 4 || bytes[start + 3] & 0xC0 == 0x80
        else {
            flaw = flaw ?? .invalidUTF8
            return start + 1
        }
        return start + length
    }
}

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
