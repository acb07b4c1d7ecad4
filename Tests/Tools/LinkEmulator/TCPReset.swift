import Glibc

/// The RST with which a host refuses a connection (RFC 9293, 3.10.7.1), made from the SYN.
enum TCPReset {
    private static let synchronize: UInt8 = 0x02
    private static let reset: UInt8 = 0x04
    private static let acknowledge: UInt8 = 0x10
    /// The size of both headers without options.
    private static let length = 40

    /// Whether a packet of IPv4 opens a connection: SYN without ACK.
    static func isConnect(_ bytes: UnsafeRawPointer, length: Int) -> Bool {
        let header = headerLength(bytes)
        guard bytes.load(fromByteOffset: 9, as: UInt8.self) == UInt8(IPPROTO_TCP), length >= header &+ 20 else {
            return false
        }
        return bytes.load(fromByteOffset: header &+ 13, as: UInt8.self) & (synchronize | acknowledge) == synchronize
    }

    /// Overwrites a SYN with its answer.
    /// - Returns: the size of the answer in bytes.
    static func answer(inPlaceOf packet: UnsafeMutableRawPointer) -> Int {
        func word(_ offset: Int) -> UInt32 {
            UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        func store(_ value: UInt32, _ offset: Int) {
            packet.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
        }
        let header = headerLength(packet)
        let (source, target) = (word(12), word(16))
        let (ports, sequence) = (word(header), word(header &+ 4))
        store(0x4500_0000 | UInt32(length), 0)
        // No identification, don't fragment, 64 hops, TCP.
        store(0x0000_4000, 4)
        store(0x4006_0000, 8)
        store(target, 12)
        store(source, 16)
        store(ports << 16 | ports >> 16, 20)
        store(0, 24)
        // SYN occupies one sequence number.
        store(sequence &+ 1, 28)
        store(0x5000_0000 | UInt32(reset | acknowledge) << 16, 32)
        store(0, 36)
        store(0x4006_0000 | UInt32(checksum(packet, 0..<20)), 8)
        let pseudoHeader = UInt32(IPPROTO_TCP) + UInt32(length - 20) + sum(packet, 12..<20)
        store(UInt32(checksum(packet, 20..<length, pseudoHeader)) << 16, 36)
        return length
    }

    private static func headerLength(_ packet: UnsafeRawPointer) -> Int { Int(packet.load(as: UInt8.self) & 15) &* 4 }

    private static func sum(_ bytes: UnsafeRawPointer, _ range: Range<Int>) -> UInt32 {
        stride(from: range.lowerBound, to: range.upperBound, by: 2).reduce(0) { sum, offset in
            sum &+ UInt32(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
        }
    }

    /// The Internet checksum (RFC 1071).
    private static func checksum(_ bytes: UnsafeRawPointer, _ range: Range<Int>, _ initial: UInt32 = 0) -> UInt16 {
        var sum = initial &+ sum(bytes, range)
        while sum >> 16 != 0 { sum = sum & 0xFFFF &+ sum >> 16 }
        return ~UInt16(sum)
    }
}
