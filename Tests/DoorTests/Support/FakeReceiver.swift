import Commands
import Store
import Uploads

/// Keeps the bytes of one request in memory. One task uses it.
final class FakeReceiver: UploadReceiver, @unchecked Sendable {
    private(set) var bytes: [UInt8] = []
    private(set) var checksum: UploadDigest?
    private let room: Int64

    init(room: Int64) { self.room = room }

    func add(_ bytes: UnsafeRawBufferPointer) { self.bytes += bytes }

    func flush() async throws(UploadError) {
        guard bytes.count <= room else { throw UploadError(.tooLarge(limit: room), "The request has too many bytes.") }
    }

    func setChecksum(_ checksum: UploadDigest) { self.checksum = checksum }

    /// CRC-32 of ISO 3309 in network order, the only algorithm of this fake.
    static func crc32(_ bytes: [UInt8]) -> [UInt8] {
        var crc: UInt32 = .max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return (0..<4).map { UInt8(truncatingIfNeeded: ~crc >> UInt32(24 - 8 * $0)) }
    }
}
