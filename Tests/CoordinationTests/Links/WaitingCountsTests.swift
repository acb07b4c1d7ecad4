import Commands
import Testing

@testable import Coordination

@Suite struct WaitingCountsTests {
    private func destinations(_ count: Int) -> Set<Destination> {
        Set((0..<count).map { Destination(scheme: "http", host: "host\($0)", port: 80) })
    }

    @Test func `each destination is counted before any is counted again`() {
        var counts = WaitingCounts()
        let all = destinations(WaitingCounts.maxPerRound * 2)
        let (first, second) = (Set(counts.nextRound(of: all)), Set(counts.nextRound(of: all)))
        #expect(first.count == WaitingCounts.maxPerRound && second.count == WaitingCounts.maxPerRound)
        #expect(first.union(second) == all)
        #expect(Set(value(counts.nextRound(of: all))) == first)
    }

    @Test func `a new destination is counted first`() throws {
        var counts = WaitingCounts()
        let all = destinations(WaitingCounts.maxPerRound + 1)
        let new = try #require(all.first)
        _ = counts.nextRound(of: all.subtracting([new]))
        #expect(value(counts.nextRound(of: all)).first == new)
    }

    @Test func `the count of a destination goes with its circuit breaker`() throws {
        var counts = WaitingCounts()
        let destination = try #require(destinations(1).first)
        #expect(value(counts.set(3, of: destination)))
        #expect(!value(counts.set(3, of: destination)))
        #expect(counts[destination] == 3)
        #expect(value(counts.nextRound(of: [])).isEmpty)
        #expect(counts[destination] == 0)
    }
}
