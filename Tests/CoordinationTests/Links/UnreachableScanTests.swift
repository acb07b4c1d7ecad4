import Commands
import Testing

@testable import Coordination

@Suite struct UnreachableScanTests {
    @Test func `a scan reads each quality of service of each shard once, and goes on behind a full batch`() {
        var scan = UnreachableScan(of: .none, shards: 2, reason: "gone")
        var seen: [UnreachableScan.Position] = []
        while let position = scan.position {
            seen.append(position)
            let isFull = position == .init(shard: 1, qos: .default, turn: 0)
            scan.advance(behind: isFull ? 70 : nil, hasMore: isFull)
        }
        #expect(seen.count == 2 * QualityOfService.allCases.count + 1)
        #expect(seen.contains(.init(shard: 1, qos: .default, turn: 70)))
    }

    @Test func `a shard that cannot be read is skipped`() {
        var scan = UnreachableScan(of: .none, shards: 2, reason: "gone")
        scan.skipShard()
        #expect(scan.position?.shard == 1)
        scan.skipShard()
        #expect(scan.position == nil)
    }
}
