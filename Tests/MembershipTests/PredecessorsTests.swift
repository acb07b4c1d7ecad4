import Host
import Store
import TestSupport
import Testing

@testable import Membership

@Suite struct PredecessorsTests {
    private func session(_ seat: Int, epoch: Int64) -> Session {
        Session(seat: seat, epoch: epoch, pid: 1, startTime: 2, bootID: "b")
    }

    @Test func `a worker whose seat was taken again proves no death, whatever the epochs are`() throws {
        let place = try TemporaryDirectory("predecessors")
        defer { place.remove() }
        let run = RunDirectory(path: place.path)
        let presence = LocalPresence(run)
        let store = MemoryStore(shardCount: 1)
        for epoch in [30, 20, 10] as [Int64] { try store.open(session(3, epoch: epoch), shard: 0) }
        try store.open(session(4, epoch: 40), shard: 0)
        func dead(before epoch: Int64) throws -> [Int64] {
            try presence.predecessors(of: epoch, inSeat: 3) { () throws(StoreError) in try store.sessions() }
                .map(\.epoch).sorted()
        }
        // The lock was never signed.
        #expect(!presence.isTaken(seat: 3, byOtherThan: 10))
        #expect(try dead(before: 20) == [10, 30])

        let lock = try #require(try run.take(.seat(3)))
        lock.sign("20\n")
        #expect(!presence.isTaken(seat: 3, byOtherThan: 20))
        #expect(try dead(before: 20) == [10, 30])
        for epoch in [10, 30] as [Int64] {
            #expect(presence.isTaken(seat: 3, byOtherThan: epoch))
            #expect(try dead(before: epoch).isEmpty)
        }
    }
}
