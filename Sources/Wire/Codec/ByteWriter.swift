internal import Commands

/// Appends a frame to a buffer.
package struct ByteWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// Counts and numbers that the protocol gives two bytes: larger ones are cut to the largest.
    mutating func uint16(_ value: Int) { append(UInt16(clamping: value)) }
    mutating func uint32(_ value: Int) { append(UInt32(clamping: value)) }
    mutating func uint64(_ value: Int64) { append(UInt64(clamping: value)) }

    mutating func append(_ id: CommandID) {
        withUnsafeBytes(of: id.high.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: id.low.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Text of at most 255 bytes; more is cut at a character.
    mutating func text8(_ text: String) { append(text, maxLength: 0xFF) { $0.append(UInt8($1)) } }

    /// Text of at most 65,534 bytes; more is cut at a character.
    mutating func text16(_ text: String) { append(text, maxLength: 0xFFFE) { $0.append(UInt16($1)) } }

    mutating func text16(_ text: String?) {
        if let text { text16(text) } else { append(UInt16(0xFFFF)) }
    }

    private mutating func append(_ text: String, maxLength: Int, length: (inout ByteWriter, Int) -> Void) {
        var utf8 = text.utf8[...]
        if utf8.count > maxLength {
            var end = utf8.index(utf8.startIndex, offsetBy: maxLength)
            // Step back over continuation bytes, so that what remains is whole characters.
            while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
            utf8 = utf8[..<end]
        }
        length(&self, utf8.count)
        bytes.append(contentsOf: utf8)
    }
}
