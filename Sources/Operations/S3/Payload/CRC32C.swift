/// CRC-32C (RFC 3720, appendix B.4), the checksum of `x-amz-checksum-crc32c`.
struct CRC32C: Sendable {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
    }

    private var state: UInt32 = 0xFFFF_FFFF

    var value: UInt32 { ~state }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        Self.table.withUnsafeBufferPointer { table in
            for byte in bytes { state = table[Int((state ^ UInt32(byte)) & 0xFF)] ^ state >> 8 }
        }
    }
}
