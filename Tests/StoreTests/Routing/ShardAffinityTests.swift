import TestSupport
import Testing

@testable import Store

@Suite struct ShardAffinityTests {
    private let all = [Bool](repeating: true, count: 8)

    @Test func `the affinity stays at a shard for its share, and reaches all shards in time`() {
        var random = SeededRandom(seed: 7)
        var affinity = ShardAffinity()
        var counts = [Int](repeating: 0, count: 8)
        var runs = 0
        var last: Int?
        for number in 0..<100 * ShardAffinity.maxConsecutive {
            let shard = affinity.next(among: all, using: &random)
            if shard != last {
                #expect(number % ShardAffinity.maxConsecutive == 0)
                runs += 1
            }
            counts[shard] += 1
            last = shard
        }
        #expect(runs > 50)
        #expect(counts.allSatisfy { $0 > 0 })
    }

    @Test func `the affinity leaves a shard in which another process commits, and stays at the next one`() {
        var random = SeededRandom(seed: 8)
        var affinity = ShardAffinity()
        let first = affinity.next(among: all, using: &random)
        var free = all
        free[first] = false
        let second = affinity.next(among: free, using: &random)
        #expect(second != first)
        #expect(affinity.next(among: all, using: &random) == second)
    }

    @Test func `the affinity takes the only free shard`() {
        var random = SeededRandom(seed: 9)
        var affinity = ShardAffinity()
        for shard in [3, 5, 3] {
            let free = (0..<8).map { $0 == shard }
            #expect(affinity.next(among: free, using: &random) == shard)
        }
    }
}
