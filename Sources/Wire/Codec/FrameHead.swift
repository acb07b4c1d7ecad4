internal import Commands

/// The fixed head of every frame. See PROTOCOL.md.
package struct FrameHead: Sendable, Equatable {
    package static let version: UInt8 = 1
    package static let noSeat = 0xFFFF

    package var seat: Int
    package var epoch: Int64
    package var sequence: Int64

    package init(seat: Int = FrameHead.noSeat, epoch: Int64, sequence: Int64) {
        self.seat = seat
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Reads the fields behind version and type.
    init(from reader: inout ByteReader) throws(WireError) {
        seat = try reader.uint16("seat")
        epoch = try reader.count64("epoch")
        sequence = try reader.count64("sequence")
    }

    /// The sender of a frame whose body cannot be read. The head is the same in every version.
    /// - Returns: nil where the head cannot be read either.
    package static func ofUnreadable(_ bytes: UnsafeRawBufferPointer) -> FrameHead? {
        var reader = ByteReader(bytes)
        guard (try? reader.uint8("version")) != nil, (try? reader.uint8("type")) != nil else { return nil }
        return try? FrameHead(from: &reader)
    }
}
