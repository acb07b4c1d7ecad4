import Host
import Store
import TestSupport
import Testing

@testable import Coordination

@Suite struct SeatLocksTests {
    private func session(_ seat: Int, epoch: Int64) -> Session {
        Session(seat: seat, epoch: epoch, pid: 1, startTime: 2, bootID: "b")
    }

    @Test func `a worker whose seat was taken again proves no death, whatever the epochs are`() throws {
        let place = try TemporaryDirectory("seating")
        defer { place.remove() }
        let seating = SeatLocks(runDirectory: RunDirectory(path: place.path))
        let store = MemoryStore(shardCount: 1)
        for epoch in [30, 20, 10] as [Int64] { try store.open(session(3, epoch: epoch), shard: 0) }
        try store.open(session(4, epoch: 40), shard: 0)
        func dead(before epoch: Int64) throws -> [Int64] {
            try seating.dead(before: epoch, seat: 3, in: store).map(\.epoch).sorted()
        }
        // The lock was never signed.
        #expect(!seating.isTaken(3, from: 10))
        #expect(try dead(before: 20) == [10, 30])

        let lock = try #require(try seating.runDirectory.take(.seat(3)))
        lock.sign("20\n")
        #expect(!seating.isTaken(3, from: 20))
        #expect(try dead(before: 20) == [10, 30])
        for epoch in [10, 30] as [Int64] {
            #expect(seating.isTaken(3, from: epoch))
            #expect(try dead(before: epoch).isEmpty)
        }
    }
}
