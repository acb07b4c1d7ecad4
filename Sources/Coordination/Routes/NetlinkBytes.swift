/// Bytes whose every access is checked: a message of the kernel may be of an unknown version.
struct NetlinkBytes {
    let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// In the byte order of this host; nil where there are too few bytes.
    func integer<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Value.Type) -> Value? {
        guard let part = part(from: offset, to: offset + MemoryLayout<Value>.size) else { return nil }
        return part.bytes.withUnsafeBytes { $0.loadUnaligned(as: type) }
    }

    /// Nil where there are too few bytes.
    /// - Parameter end: nil for all bytes that there are.
    func part(from start: Int, to end: Int? = nil) -> NetlinkBytes? {
        let end = end ?? bytes.count
        guard start >= 0, start <= end, end <= bytes.count else { return nil }
        return NetlinkBytes(bytes[(bytes.startIndex + start)..<(bytes.startIndex + end)])
    }

    /// The bytes behind the first `count` and their padding to a multiple of four.
    func dropping(aligned count: Int) -> NetlinkBytes { NetlinkBytes(bytes.dropFirst((count + 3) & ~3)) }

    /// Pairs of type and value, as far as they are whole.
    var attributes: [(type: UInt16, value: NetlinkBytes)] {
        var attributes: [(type: UInt16, value: NetlinkBytes)] = []
        var rest = self
        while let length = rest.integer(at: 0, as: UInt16.self), let type = rest.integer(at: 2, as: UInt16.self),
            let value = rest.part(from: 4, to: Int(length))
        {
            // The upper two bits of the type are flags of its value.
            attributes.append((type & 0x3FFF, value))
            rest = rest.dropping(aligned: Int(length))
        }
        return attributes
    }

    /// Up to the first zero.
    var text: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
}
