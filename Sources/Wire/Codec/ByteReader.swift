internal import Commands

/// Reads a frame from front to back. Every read checks the bounds; nothing traps.
package struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    /// - Parameter bytes: must outlive the reader.
    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package var remaining: Int { bytes.count - position }

    mutating func integer<Value: FixedWidthInteger>(_ field: StaticString) throws(WireError) -> Value {
        guard remaining >= MemoryLayout<Value>.size else { throw WireError(.truncated, field) }
        let value = bytes.loadUnaligned(fromByteOffset: position, as: Value.self)
        position += MemoryLayout<Value>.size
        return Value(littleEndian: value)
    }

    mutating func uint8(_ field: StaticString) throws(WireError) -> UInt8 { try integer(field) }
    mutating func uint16(_ field: StaticString) throws(WireError) -> Int { Int(try integer(field) as UInt16) }
    mutating func uint32(_ field: StaticString) throws(WireError) -> Int { Int(try integer(field) as UInt32) }

    /// An unsigned 64-bit number that must fit a signed one.
    mutating func count64(_ field: StaticString) throws(WireError) -> Int64 {
        guard let value = Int64(exactly: try integer(field) as UInt64) else { throw WireError(.badValue, field) }
        return value
    }

    mutating func int64(_ field: StaticString) throws(WireError) -> Int64 { try integer(field) }

    /// 0: not known.
    mutating func microseconds(_ field: StaticString) throws(WireError) -> Duration? {
        let value: UInt32 = try integer(field)
        return value == 0 ? nil : .microseconds(value)
    }

    mutating func id(_ field: StaticString) throws(WireError) -> CommandID {
        guard remaining >= 16 else { throw WireError(.truncated, field) }
        let high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position + 8, as: UInt64.self))
        position += 16
        return CommandID(high: high, low: low)
    }

    mutating func text8(_ field: StaticString) throws(WireError) -> String {
        try text(count: Int(try uint8(field)), field)
    }

    mutating func text16(_ field: StaticString) throws(WireError) -> String {
        try text(count: try uint16(field), field)
    }

    mutating func optionalText16(_ field: StaticString) throws(WireError) -> String? {
        let count = try uint16(field)
        return count == 0xFFFF ? nil : try text(count: count, field)
    }

    private mutating func text(count: Int, _ field: StaticString) throws(WireError) -> String {
        guard remaining >= count else { throw WireError(.truncated, field) }
        let slice = UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
        position += count
        // ASCII is always valid; the generic check costs a look-up of metadata for each text.
        if slice.allSatisfy({ $0 < 0x80 }) { return String(decoding: slice, as: UTF8.self) }
        guard let text = String(validating: slice, as: UTF8.self) else { throw WireError(.badText, field) }
        return text
    }
}
