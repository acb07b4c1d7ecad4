import Commands
import Store
import Testing

@testable import Coordination

@Suite struct CancellationRequestsTests {
    private func row(_ number: UInt64, shard: UInt8 = 0, claim: Int = 1) -> ClaimedCommand {
        var command = Command(
            id: CommandID(high: number, low: UInt64(shard)), type: "noop", destination: .none,
            createdAt: Timestamp(milliseconds: 0))
        command.status = .sent
        command.claim = claim
        return ClaimedCommand(command, epoch: 1)
    }

    @Test func `a request stays until the command is no longer held`() {
        var requests = CancellationRequests(shardCount: 8)
        requests.add([row(1, claim: 3)])
        #expect(requests.claims == [row(1).id: 3])
        #expect(value(requests.remove(row(1).id)))
        #expect(!value(requests.remove(row(1).id)))
        #expect(requests.claims.isEmpty)
    }

    @Test func `the rows of a shard replace its requests and no others`() throws {
        var requests = CancellationRequests(shardCount: 8)
        let other = try #require(
            (1...255).map { row(2, shard: $0) }.first { $0.id.shard(of: 8) != row(1).id.shard(of: 8) })
        let (shard, otherShard) = (row(1).id.shard(of: 8), other.id.shard(of: 8))
        #expect(value(requests.replace(shard: shard, with: [row(1)])))
        #expect(value(requests.replace(shard: otherShard, with: [other])))
        #expect(!value(requests.replace(shard: shard, with: [row(1)])), "the same rows are not news")
        #expect(value(requests.replace(shard: shard, with: [row(1, claim: 2)])), "a later claim is news")
        #expect(value(requests.replace(shard: shard, with: [])))
        #expect(requests.claims == [other.id: 1])
    }
}
