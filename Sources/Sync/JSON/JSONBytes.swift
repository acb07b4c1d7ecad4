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
