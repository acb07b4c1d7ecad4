import Host
import Testing

@testable import NetworkControl

/// Transitions of levels: what is measured for how long, and what comes of it.
@Suite struct LevelJudgeTests {
    private static let capacity = 100 * megabit

    /// Feeds seconds of one tick. - Returns: levels entered and the seconds after which they were.
    @discardableResult private func feed(
        _ judge: inout LevelJudge, _ seconds: Double, _ one: LinkInterval, expected: Double? = capacity,
        queueDelay: Duration? = nil, from: Double = 0
    ) -> [(LinkLevel, Double)] {
        var entered: [(LinkLevel, Double)] = []
        for step in 1...Int(seconds * 4) {
            let before = judge.level
            let now = at(from + Double(step) / 4)
            judge.add(one, estimate: one.rate, expected: expected, queueDelay: queueDelay, now: now)
            if judge.level != before { entered.append((judge.level, Double(step) / 4)) }
        }
        return entered
    }

    private func judge(at level: LinkLevel) -> LevelJudge {
        var judge = LevelJudge(now: at(0))
        feed(&judge, 1, tick(Self.capacity))
        switch level {
        case .unknown, .good: break
        case .degraded: feed(&judge, 2, tick(10 * megabit), from: 1)
        case .poor, .offline: feed(&judge, 2, tick(0.2 * megabit), from: 1)
        }
        return judge
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var from: LinkLevel
        /// Mbit/s; 100 are usual.
        var rate: Double
        var entered: [(LinkLevel, Double)]
        var testDescription: String { "\(from) at \(rate) Mbit/s" }
    }

    static let rows: [Row] = [
        Row(from: .good, rate: 51, entered: []),
        Row(from: .good, rate: 49, entered: [(.degraded, 1)]),
        Row(from: .good, rate: 1.9, entered: [(.degraded, 1)]),
        Row(from: .good, rate: 0.25, entered: [(.poor, 1)]),
        Row(from: .degraded, rate: 49, entered: []),
        Row(from: .degraded, rate: 64, entered: []),
        Row(from: .degraded, rate: 66, entered: [(.good, 3)]),
        Row(from: .degraded, rate: 0.25, entered: [(.poor, 1)]),
        Row(from: .poor, rate: 0.3, entered: []),
        Row(from: .poor, rate: 0.34, entered: [(.degraded, 3)]),
        Row(from: .poor, rate: 100, entered: [(.degraded, 3), (.good, 6)]),
    ]

    @Test func `an uplink that is left alone for a minute is unknown, and good as soon as something flows`() {
        var judge = judge(at: .poor)
        let idle = tick(0, transfers: 0, flowing: 0)
        judge.presume(idle, now: at(30))
        #expect(judge.level == .poor)
        judge.presume(idle, now: at(90))
        #expect(judge.level == .unknown)
        judge.presume(tick(megabit), now: at(91))
        #expect(judge.level == .good)
    }

    @Test func `transfers that each end within a tick lift a level and lower none`() {
        var short = tick(30 * megabit, transfers: 1, flowing: 0, srtt: nil, minRTT: nil)
        short.completed = 1
        var poor = judge(at: .poor)
        #expect(feed(&poor, 10, short, from: 3).map(\.0) == [.degraded])
        #expect(poor.remedy != nil)
        short.rate = 70 * megabit
        #expect(feed(&poor, 10, short, from: 13).map(\.0) == [.good])
        // The least that a link can is no evidence against it.
        short.rate = 0.1 * megabit
        #expect(feed(&poor, 10, short, from: 23).isEmpty)
        short.completed = 0
        short.rate = 70 * megabit
        poor = judge(at: .poor)
        #expect(feed(&poor, 10, short, from: 3).isEmpty)
    }

    @Test(arguments: rows) func `enters and leaves`(row: Row) {
        var judge = judge(at: row.from)
        #expect(judge.level == row.from)
        let entered = feed(&judge, 10, tick(row.rate * megabit), from: 3)
        #expect(entered.map(\.0) == row.entered.map(\.0))
        #expect(entered.map(\.1) == row.entered.map(\.1))
    }

    @Test func `few transfers that are slow without a queue are their servers' doing`() {
        var unqueued = LevelJudge(now: at(0))
        feed(&unqueued, 5, tick(1.6 * megabit), expected: nil, queueDelay: .milliseconds(5))
        #expect(unqueued.level == .good)
        var queued = LevelJudge(now: at(0))
        feed(&queued, 5, tick(1.6 * megabit), expected: nil, queueDelay: .milliseconds(50))
        #expect(queued.level == .degraded)
        // That the queue is short for a while makes a slow link no better.
        feed(&queued, 5, tick(1.6 * megabit), expected: nil, queueDelay: .milliseconds(5), from: 5)
        #expect(queued.level == .degraded)
    }

    @Test func `less than a second changes nothing`() {
        var judge = judge(at: .good)
        for round in 0..<20 {
            feed(&judge, 0.75, tick(megabit), from: 3 + Double(round))
            feed(&judge, 0.25, tick(Self.capacity), from: 3.75 + Double(round))
        }
        #expect(judge.level == .good)
    }

    @Test func `the mildest of what it saw is entered`() {
        var judge = judge(at: .good)
        feed(&judge, 0.5, tick(10 * megabit), from: 3)
        feed(&judge, 0.5, tick(0.1 * megabit), from: 3.5)
        #expect(judge.level == .degraded)
    }

    @Test func `transfers that stall while the link carries what it can are too many, and no reason for a level`() {
        var judge = judge(at: .good)
        var one = tick(0.9 * Self.capacity, flowing: 64)
        one.stalled = 40
        feed(&judge, 5, one, from: 3)
        #expect(judge.level == .good)
        one.rate = 0.7 * Self.capacity
        feed(&judge, 2, one, from: 8)
        #expect(judge.level == .poor)
    }

    @Test func `without demand the level stays, and is unknown after a minute`() {
        var judge = judge(at: .degraded)
        feed(&judge, 50, tick(0, flowing: 0, srtt: nil), from: 3)
        #expect(judge.level == .degraded)
        feed(&judge, 15, tick(0, flowing: 0, srtt: nil), from: 53)
        #expect(judge.level == .unknown)
    }

    @Test func `silence is not judged here`() {
        var judge = judge(at: .good)
        feed(&judge, 5, tick(0), from: 3)
        #expect(judge.level == .good)
    }

    @Test func `a silence in the middle of a fall is part of it`() {
        var judge = judge(at: .good)
        feed(&judge, 0.5, tick(2 * megabit), from: 3)
        feed(&judge, 0.5, tick(0), from: 3.5)
        #expect(judge.level == .degraded)
    }

    /// A quarter of a second of it, and what was in the queue is lost: half a second goes by before more is acknowledged.
    @Test func `a silence counts for as much as what it stands in the middle of`() {
        var judge = judge(at: .good)
        feed(&judge, 0.25, tick(2 * megabit), from: 3)
        feed(&judge, 0.5, tick(0), from: 3.25)
        #expect(judge.level == .good)
        feed(&judge, 0.25, tick(megabit), from: 3.75)
        #expect(judge.level == .degraded)

        judge = self.judge(at: .good)
        feed(&judge, 0.25, tick(2 * megabit), from: 3)
        feed(&judge, 1.5, tick(0), from: 3.25)
        #expect(judge.level == .good)
    }

    @Test func `a late first byte with a flat round trip is the server`() {
        var judge = LevelJudge(now: at(0))
        var one = tick(20_000, flowing: 0, srtt: .milliseconds(50))
        one.timeToFirstByte = .seconds(3)
        feed(&judge, 10, one)
        #expect(judge.level == .good)
        #expect(judge.evidence == .slowServer(timeToFirstByte: .seconds(3), srtt: .milliseconds(50)))
        #expect(judge.evidence.sentence.contains("the server takes 3.0 s"))
    }

    @Test func `small requests with long round trips are the network`() {
        var judge = judge(at: .good)
        feed(&judge, 2, tick(20_000, flowing: 0, srtt: .milliseconds(800)), from: 3)
        #expect(judge.level == .degraded)
        feed(&judge, 2, tick(20_000, flowing: 0, srtt: .milliseconds(1600)), from: 5)
        #expect(judge.level == .poor)
    }

    @Test func `loss alone is no worse level`() {
        var judge = judge(at: .good)
        var one = tick(5 * megabit, srtt: .milliseconds(51))
        one.loss = 0.05
        feed(&judge, 10, one, queueDelay: .milliseconds(1), from: 3)
        #expect(judge.level == .good)
        // With a queue it is a link that has become slow.
        feed(&judge, 2, one, queueDelay: .milliseconds(300), from: 13)
        #expect(judge.level == .degraded)
    }

    @Test func `a queue is degraded only where goodput fell too`() {
        var judge = judge(at: .good)
        feed(&judge, 5, tick(Self.capacity), queueDelay: .milliseconds(1000), from: 3)
        #expect(judge.level == .good)
        feed(&judge, 1, tick(0.7 * Self.capacity), queueDelay: .milliseconds(1000), from: 8)
        #expect(judge.level == .degraded)
    }

    @Test func `one failure is a retry, many are the link`() {
        var judge = judge(at: .good)
        var one = tick(Self.capacity)
        one.failed = 1
        feed(&judge, 0.25, one, from: 3)
        feed(&judge, 5, tick(Self.capacity), from: 3.25)
        #expect(judge.level == .good)
        one.failed = 2
        feed(&judge, 5, one, from: 9)
        #expect(judge.level == .good, "it carries what it can")
        one.rate = 0.7 * Self.capacity
        feed(&judge, 1.25, one, from: 14)
        #expect(judge.level >= .degraded)
        #expect(judge.evidence.sentence.contains("failed for the link"))
    }

    @Test func `half of the transfers without progress are poor`() {
        var judge = judge(at: .good)
        var one = tick(0.6 * Self.capacity)
        one.stalled = 2
        feed(&judge, 1, one, from: 3)
        #expect(judge.level == .poor)
    }

    @Test func `says the measure, the threshold and what lifts it`() {
        let judge = judge(at: .degraded)
        #expect(
            judge.evidence.sentence == "goodput 10.0 Mbit/s is below 50.0 Mbit/s, where 100 Mbit/s was usual")
        #expect(judge.remedy == "65.0 Mbit/s for 3.0 s")
        #expect(judge.since == at(2))
    }
}
