import Host
import Testing

@testable import NetworkControl

/// Transitions of levels: which measure leads to which level, after how long.
@Suite struct LevelJudgeTests {
    private static let capacity = 100 * megabit

    /// Feeds an interval repeatedly for some seconds. - Returns: the levels entered, and after how many
    /// seconds.
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
        feed(&judge, 1, interval(Self.capacity))
        switch level {
        case .unknown, .good: break
        case .degraded: feed(&judge, 2, interval(10 * megabit), from: 1)
        case .poor, .offline: feed(&judge, 2, interval(0.2 * megabit), from: 1)
        }
        return judge
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var from: LinkLevel
        /// In Mbit/s; 100 are usual.
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

    @Test func `an uplink without evidence for a minute is unknown, and good as soon as bytes flow`() {
        var judge = judge(at: .poor)
        let idle = interval(0, transfers: 0, flowing: 0)
        judge.presume(idle, now: at(30))
        #expect(judge.level == .poor)
        judge.presume(idle, now: at(90))
        #expect(judge.level == .unknown)
        judge.presume(interval(megabit), now: at(91))
        #expect(judge.level == .good)
    }

    @Test func `transfers that each end within an interval lift a level and never lower it`() {
        var short = interval(30 * megabit, transfers: 1, flowing: 0, srtt: nil, minRTT: nil)
        short.completed = 1
        var poor = judge(at: .poor)
        #expect(feed(&poor, 10, short, from: 3).map(\.0) == [.degraded])
        #expect(poor.remedy != nil)
        short.rate = 70 * megabit
        #expect(feed(&poor, 10, short, from: 13).map(\.0) == [.good])
        // A low rate of short transfers is not evidence against the link.
        short.rate = 0.1 * megabit
        #expect(feed(&poor, 10, short, from: 23).isEmpty)
        short.completed = 0
        short.rate = 70 * megabit
        poor = judge(at: .poor)
        #expect(feed(&poor, 10, short, from: 3).isEmpty)
    }

    @Test func `a link that carries only short transfers is good, and stays unknown at a low rate`() {
        var short = interval(63 * megabit, transfers: 1, flowing: 0, srtt: nil, minRTT: nil)
        short.completed = 1
        var judge = LevelJudge(now: at(0))
        #expect(feed(&judge, 1, short, expected: nil).map(\.0) == [.good])
        short.rate = 0.1 * megabit
        judge = LevelJudge(now: at(0))
        #expect(feed(&judge, 10, short, expected: nil).isEmpty && judge.level == .unknown)
    }

    @Test(arguments: rows) func `a level is entered after a second and left after three`(row: Row) {
        var judge = judge(at: row.from)
        #expect(judge.level == row.from)
        let entered = feed(&judge, 10, interval(row.rate * megabit), from: 3)
        #expect(entered.map(\.0) == row.entered.map(\.0))
        #expect(entered.map(\.1) == row.entered.map(\.1))
    }

    @Test func `a few transfers that are slow without a queue do not lower the level`() {
        var unqueued = LevelJudge(now: at(0))
        feed(&unqueued, 5, interval(1.6 * megabit), expected: nil, queueDelay: .milliseconds(5))
        #expect(unqueued.level == .good)
        var queued = LevelJudge(now: at(0))
        feed(&queued, 5, interval(1.6 * megabit), expected: nil, queueDelay: .milliseconds(50))
        #expect(queued.level == .degraded)
        // A slow link does not become better when its queue is short for a while.
        feed(&queued, 5, interval(1.6 * megabit), expected: nil, queueDelay: .milliseconds(5), from: 5)
        #expect(queued.level == .degraded)
    }

    @Test func `evidence of less than a second changes nothing`() {
        var judge = judge(at: .good)
        for round in 0..<20 {
            feed(&judge, 0.75, interval(megabit), from: 3 + Double(round))
            feed(&judge, 0.25, interval(Self.capacity), from: 3.75 + Double(round))
        }
        #expect(judge.level == .good)
    }

    @Test func `the mildest level of the evidence is entered`() {
        var judge = judge(at: .good)
        feed(&judge, 0.5, interval(10 * megabit), from: 3)
        feed(&judge, 0.5, interval(0.1 * megabit), from: 3.5)
        #expect(judge.level == .degraded)
    }

    @Test func `transfers that stall while the link carries what it can do not lower the level`() {
        var judge = judge(at: .good)
        var one = interval(0.9 * Self.capacity, flowing: 64)
        one.stalled = 40
        feed(&judge, 5, one, from: 3)
        #expect(judge.level == .good)
        one.rate = 0.7 * Self.capacity
        feed(&judge, 2, one, from: 8)
        #expect(judge.level == .poor)
    }

    @Test func `a level without demand stays, and is unknown after a minute`() {
        var judge = judge(at: .degraded)
        feed(&judge, 50, interval(0, flowing: 0, srtt: nil), from: 3)
        #expect(judge.level == .degraded)
        feed(&judge, 15, interval(0, flowing: 0, srtt: nil), from: 53)
        #expect(judge.level == .unknown)
    }

    @Test func `silence does not lower the level`() {
        var judge = judge(at: .good)
        feed(&judge, 5, interval(0), from: 3)
        #expect(judge.level == .good)
    }

    @Test func `silence between bad intervals counts as bad`() {
        var judge = judge(at: .good)
        feed(&judge, 0.5, interval(2 * megabit), from: 3)
        feed(&judge, 0.5, interval(0), from: 3.5)
        #expect(judge.level == .degraded)
    }

    /// The bytes in the queue are lost after a quarter of a second, and half a second passes before more are
    /// acknowledged.
    @Test func `silence counts at most for as long as the bad intervals around it`() {
        var judge = judge(at: .good)
        feed(&judge, 0.25, interval(2 * megabit), from: 3)
        feed(&judge, 0.5, interval(0), from: 3.25)
        #expect(judge.level == .good)
        feed(&judge, 0.25, interval(megabit), from: 3.75)
        #expect(judge.level == .degraded)

        judge = self.judge(at: .good)
        feed(&judge, 0.25, interval(2 * megabit), from: 3)
        feed(&judge, 1.5, interval(0), from: 3.25)
        #expect(judge.level == .good)
    }

    @Test func `a late first byte with a flat round trip is put down to the server`() {
        var judge = LevelJudge(now: at(0))
        var one = interval(20_000, flowing: 0, srtt: .milliseconds(50))
        one.timeToFirstByte = .seconds(3)
        feed(&judge, 10, one)
        #expect(judge.level == .good)
        #expect(judge.reason == .slowServer(timeToFirstByte: .seconds(3), srtt: .milliseconds(50)))
    }

    @Test func `small requests with long round trips lower the level`() {
        var judge = judge(at: .good)
        feed(&judge, 2, interval(20_000, flowing: 0, srtt: .milliseconds(800)), from: 3)
        #expect(judge.level == .degraded)
        feed(&judge, 2, interval(20_000, flowing: 0, srtt: .milliseconds(1600)), from: 5)
        #expect(judge.level == .poor)
    }

    @Test func `loss alone does not lower the level`() {
        var judge = judge(at: .good)
        var one = interval(5 * megabit, srtt: .milliseconds(51))
        one.loss = 0.05
        feed(&judge, 10, one, queueDelay: .milliseconds(1), from: 3)
        #expect(judge.level == .good)
        // With a queue the link has become slow.
        feed(&judge, 2, one, queueDelay: .milliseconds(300), from: 13)
        #expect(judge.level == .degraded)
    }

    @Test func `a link with a queue is degraded only if its goodput fell too`() {
        var judge = judge(at: .good)
        feed(&judge, 5, interval(Self.capacity), queueDelay: .milliseconds(1000), from: 3)
        #expect(judge.level == .good)
        feed(&judge, 1, interval(0.7 * Self.capacity), queueDelay: .milliseconds(1000), from: 8)
        #expect(judge.level == .degraded)
    }

    @Test func `one failure does not lower the level, many do`() {
        var judge = judge(at: .good)
        var one = interval(Self.capacity)
        one.failed = 1
        feed(&judge, 0.25, one, from: 3)
        feed(&judge, 5, interval(Self.capacity), from: 3.25)
        #expect(judge.level == .good)
        one.failed = 2
        feed(&judge, 5, one, from: 9)
        #expect(judge.level == .good, "the link carries what it can")
        one.rate = 0.7 * Self.capacity
        feed(&judge, 1.25, one, from: 14)
        #expect(judge.level >= .degraded)
        #expect(judge.reason.rule == .errors)
    }

    @Test func `a link on which half of the transfers make no progress is poor`() {
        var judge = judge(at: .good)
        var one = interval(0.6 * Self.capacity)
        one.stalled = 2
        feed(&judge, 1, one, from: 3)
        #expect(judge.level == .poor)
    }

    @Test func `the reason has the measure and the threshold, and the remedy what lifts the level`() {
        let judge = judge(at: .degraded)
        #expect(
            judge.reason
                == .goodput(measured: 0.1 * Self.capacity, threshold: 0.5 * Self.capacity, usual: Self.capacity))
        #expect(judge.remedy == LinkRemedy(.goodput, threshold: 0.65 * Self.capacity, for: .seconds(3)))
        #expect(judge.since == at(2))
    }
}
