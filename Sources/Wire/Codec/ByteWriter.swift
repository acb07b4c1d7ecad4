internal import Commands

/// Appends a frame to a buffer.
package struct ByteWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// The next three write a larger or smaller number as the nearest that fits.
    mutating func uint16(_ value: Int) { append(UInt16(clamping: value)) }
    mutating func uint32(_ value: Int) { append(UInt32(clamping: value)) }
    mutating func uint64(_ value: Int64) { append(UInt64(clamping: value)) }

    /// Nil is 0; a time below a microsecond is one, so that it is not taken for unknown.
    mutating func microseconds(_ duration: Duration?) {
        guard let (seconds, attoseconds) = duration?.components else { return append(UInt32(0)) }
        let microseconds = max(min(seconds, 10_000), 0) * 1_000_000 + attoseconds / 1_000_000_000_000
        append(UInt32(clamping: max(microseconds, 1)))
    }

    mutating func append(_ id: CommandID) {
        withUnsafeBytes(of: id.high.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: id.low.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Writes text of at most 255 bytes; longer text is cut between two characters.
    mutating func text8(_ text: String) { append(text, maxLength: 0xFF) { $0.append(UInt8($1)) } }

    /// Writes text of at most 65,534 bytes; longer text is cut between two characters.
    mutating func text16(_ text: String) { append(text, maxLength: 0xFFFE) { $0.append(UInt16($1)) } }

    mutating func text16(_ text: String?) {
        if let text { text16(text) } else { append(UInt16(0xFFFF)) }
    }

    private mutating func append(_ text: String, maxLength: Int, length: (inout ByteWriter, Int) -> Void) {
        var utf8 = text.utf8[...]
        if utf8.count > maxLength {
            var end = utf8.index(utf8.startIndex, offsetBy: maxLength)
            // Step back over continuation bytes, so that only whole characters remain.
            while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
            utf8 = utf8[..<end]
        }
        length(&self, utf8.count)
        bytes.append(contentsOf: utf8)
    }
}
