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
}
