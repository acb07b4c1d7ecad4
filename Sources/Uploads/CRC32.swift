/// The CRC-32 of ISO 3309, as in gzip (RFC 1952, section 8): polynomial 0x04C11DB7, reflected.
package struct CRC32: Sendable {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    private var state = UInt32.max

    package init() {}

    /// The CRC of the bytes so far.
    package var value: UInt32 { ~state }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var state = state
        Self.table.withUnsafeBufferPointer { table in
            for byte in bytes { state = state >> 8 ^ table[Int((state ^ UInt32(byte)) & 0xFF)] }
        }
        self.state = state
    }

    /// The CRC of some bytes.
    package static func value(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var crc = CRC32()
        Array(bytes).withUnsafeBytes { crc.update($0) }
        return crc.value
    }
}
