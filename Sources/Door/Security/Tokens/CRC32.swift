/// The CRC-32 of ISO 3309: polynomial 0x04C11DB7, reflected.
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    static func value(_ bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(UInt32.max) { value, byte in value >> 8 ^ table[Int((value ^ UInt32(byte)) & 0xFF)] }
    }
}
