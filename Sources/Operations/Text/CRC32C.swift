/// The CRC-32 of Castagnoli (RFC 9260, appendix A): polynomial 0x1EDC6F41, reflected.
struct CRC32C: Sendable {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
    }

    private var state = UInt32.max

    var value: UInt32 { ~state }

    /// ``value``, the most significant byte first.
    var bytes: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var state = state
        Self.table.withUnsafeBufferPointer { table in
            for byte in bytes { state = state >> 8 ^ table[Int((state ^ UInt32(byte)) & 0xFF)] }
        }
        self.state = state
    }

    mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }
}
