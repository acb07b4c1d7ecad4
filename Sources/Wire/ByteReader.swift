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

/// Why bytes are not a message.
package struct WireError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Problem: Sendable, Equatable {
        case truncated
        case unknownVersion(UInt8)
        case unknownType(UInt8)
        case badValue
        case badText
    }

    package var problem: Problem
    /// The field that could not be read.
    package var field: String

    package init(_ problem: Problem, _ field: StaticString) {
        self.problem = problem
        self.field = field.description
    }

    package var description: String {
        switch problem {
        case .truncated: "the frame ends before “\(field)”"
        case .unknownVersion(let version): "version \(version) of the protocol is not known here"
        case .unknownType(let type): "message type \(type) is not known here"
        case .badValue: "“\(field)” has a value that the protocol does not know"
        case .badText: "“\(field)” is not valid UTF-8"
        }
    }
}
