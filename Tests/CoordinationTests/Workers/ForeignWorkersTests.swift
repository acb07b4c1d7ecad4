import Coordination
import Testing
import Wire

@Suite struct ForeignWorkersTests {
    private let sender = FrameHead(seat: 3, epoch: 7, sequence: 1)

    @Test func `a worker is foreign from its first unreadable frame until it has ended`() {
        var workers = ForeignWorkers()
        #expect(!workers.contains(seat: 3, epoch: 7))
        let isFirst = workers.received(WireError(.unknownVersion(9), "version"), from: sender)
        let isSecond = workers.received(WireError(.truncated, "statuses"), from: sender)
        #expect(isFirst && !isSecond)
        #expect(workers.contains(seat: 3, epoch: 7) && !workers.contains(seat: 3, epoch: 8))
        workers.remove(seat: 3)
        #expect(!workers.contains(seat: 3, epoch: 7))
    }

    @Test func `a message of an unknown type, and a frame without a seat, make no worker foreign`() {
        var workers = ForeignWorkers()
        let isOfType = workers.received(WireError(.unknownType(99), "type"), from: sender)
        let noSeat = FrameHead(epoch: 7, sequence: 1)
        let isOfProducer = workers.received(WireError(.unknownVersion(9), "version"), from: noSeat)
        #expect(!isOfType && !isOfProducer)
        #expect(!workers.contains(seat: 3, epoch: 7) && !workers.contains(seat: FrameHead.noSeat, epoch: 7))
    }
}
