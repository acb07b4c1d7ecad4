import Commands
import Host
import Testing

@testable import NetworkControl

@Suite struct PreemptionPlannerTests {
    private func input(
        megabits: Double, low: Int, highBytes: Int64?, poor: Bool = false,
        _ change: (inout TransferSample) -> Void = { _ in }
    ) -> PreemptionInput {
        var input = PreemptionInput()
        input.capacity = megabits * megabit
        input.isSaturated = true
        if poor { input.level = .poor }
        input.highCount = 1
        input.highRemaining = highBytes
        input.others = (0..<low).map {
            var one = sample(UInt64($0) + 10)
            change(&one)
            return one
        }
        return input
    }

    private func decide(
        _ planner: inout PreemptionPlanner, _ input: PreemptionInput, mayCut: Bool = true,
        now: MonotonicTime = at(0),
        restarts: Int = 0
    ) -> PreemptionDecision {
        planner.decide(
            input, rules: PreemptionRules(), maxStandstill: .seconds(60), mayCut: mayCut, now: now,
            restarts: { _ in restarts })
    }

    private func first(_ input: PreemptionInput, restarts: Int = 0)
        -> PreemptionDecision
    {
        var planner = PreemptionPlanner()
        return decide(&planner, input, restarts: restarts)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var megabits: Double
        var low: Int
        var bytes: Int64?
        var contended: Bool
        var cuts: Int
        var testDescription: String { "\(low) low at \(megabits) Mbit/s, \(bytes ?? -1) bytes" }
    }

    static let rows: [Row] = [
        // Sharing costs next to nothing.
        Row(megabits: 100, low: 8, bytes: 250_000, contended: false, cuts: 0),
        Row(megabits: 1000, low: 32, bytes: 900_000, contended: false, cuts: 0),
        // Held back and not cut: the drain lasts a tenth of the time alone.
        Row(megabits: 20, low: 8, bytes: 2_500_000, contended: true, cuts: 0),
        Row(megabits: 20, low: 1, bytes: 2_500_000, contended: true, cuts: 0),
        Row(megabits: 100, low: 8, bytes: nil, contended: true, cuts: 0),
        // The drain lasts as long as the high transfer itself: as many as necessary are cut.
        Row(megabits: 2, low: 8, bytes: 250_000, contended: true, cuts: 7),
        Row(megabits: 2, low: 4, bytes: 250_000, contended: true, cuts: 3),
        Row(megabits: 2, low: 1, bytes: 250_000, contended: true, cuts: 0),
        // A long high transfer can wait for the drain.
        Row(megabits: 2, low: 4, bytes: 25_000_000, contended: true, cuts: 0),
    ]

    @Test(arguments: rows) func `low transfers are left alone, held back or cut by what sharing would cost`(row: Row) {
        let decision = first(input(megabits: row.megabits, low: row.low, highBytes: row.bytes))
        #expect(decision.isContended == row.contended)
        #expect(decision.isHeadStart == row.contended)
        #expect(decision.cuts.count == row.cuts)
    }

    @Test func `a short high transfer starts no contention, and does not end that of a long one`() {
        var planner = PreemptionPlanner()
        let short = input(megabits: 100, low: 8, highBytes: 10_000)
        #expect(decide(&planner, short) == PreemptionDecision())
        #expect(decide(&planner, input(megabits: 100, low: 8, highBytes: 2_500_000), now: at(1)).isContended)
        #expect(decide(&planner, short, now: at(2)).isContended)
    }

    @Test func `a link that is not saturated holds no transfer back`() {
        var input = input(megabits: 2, low: 4, highBytes: 250_000)
        input.isSaturated = false
        #expect(first(input) == PreemptionDecision())
    }

    @Test func `all low transfers are cut on a poor link`() {
        #expect(first(input(megabits: 0.2, low: 4, highBytes: 250_000, poor: true)).cuts.count == 4)
    }

    @Test func `a transfer that is nearly done, may not run again or is of middle quality is not cut`() {
        func cuts(_ change: (inout TransferSample) -> Void) -> Int {
            first(input(megabits: 0.2, low: 4, highBytes: 250_000, poor: true, change)).cuts.count
        }
        #expect(cuts { $0.remaining = 5000 } == 0, "ends within a second")
        #expect(cuts { $0.isIdempotent = false } == 0)
        #expect(cuts { $0.qos = .default } == 0)
        #expect(cuts { $0.isResumable = false } == 4)
        #expect(
            cuts {
                $0.isResumable = false
                $0.remaining = 100_000
            } == 0, "nine tenths done")
    }

    @Test func `a transfer that starts over is cut if that wastes less than a second, and at most three times`() {
        var input = input(megabits: 2, low: 4, highBytes: 250_000) {
            $0.isResumable = false
            $0.acknowledged = 200_000
        }
        #expect(first(input).cuts.count == 3)
        #expect(first(input, restarts: 3).cuts.isEmpty)
        for index in input.others.indices { input.others[index].acknowledged = 300_000 }
        #expect(first(input).cuts.isEmpty)
    }

    @Test func `victims are ordered by the lowest quality, then the least waste, then the most bytes to go`() {
        let order = PreemptionPlanner.victims([
            sample(1, .utility, acknowledged: 5, resumable: false), sample(2, .background, acknowledged: 9),
            sample(3, .utility, remaining: 1), sample(4, .utility, remaining: 9),
            sample(5, .default), sample(6, .background, acknowledged: 4, resumable: false),
        ])
        #expect(order.map(\.id) == [2, 6, 4, 3, 1].map(id))
    }

    @Test func `the head start lasts two seconds, and high quality is over after one of idleness`() {
        var planner = PreemptionPlanner()
        var input = input(megabits: 20, low: 4, highBytes: 25_000_000)
        #expect(decide(&planner, input, now: at(0)).isHeadStart)
        #expect(decide(&planner, input, now: at(2) - .nanoseconds(1)).isHeadStart)
        #expect(!decide(&planner, input, now: at(2)).isHeadStart)
        input.highCount = 0
        #expect(decide(&planner, input, now: at(3) - .nanoseconds(1)).isContended)
        #expect(!decide(&planner, input, now: at(3)).isContended)
    }

    @Test func `the head start begins anew when the link loses more than half of its capacity`() {
        var planner = PreemptionPlanner()
        let wide = input(megabits: 50, low: 4, highBytes: 90_000_000)
        #expect(decide(&planner, wide).isHeadStart)
        #expect(!decide(&planner, wide, now: at(3)).isHeadStart)
        let less = input(megabits: 30, low: 4, highBytes: 90_000_000)
        #expect(!decide(&planner, less, now: at(4)).isHeadStart)
        var narrow = input(megabits: 2, low: 4, highBytes: 90_000_000) { $0.isResumable = false }
        narrow.level = .degraded
        for index in 0..<2 { narrow.others[index].isResumable = true }
        let anew = decide(&planner, narrow, now: at(5))
        #expect(anew.isHeadStart)
        #expect(Set(anew.cuts) == Set(narrow.others.prefix(2).map(\.id)), "only transfers that can be resumed")
        #expect(decide(&planner, narrow, now: at(6)).isHeadStart)
        #expect(!decide(&planner, narrow, now: at(7)).isHeadStart)
    }

    @Test func `cut transfers stay out for half of the longest standstill`() {
        var planner = PreemptionPlanner()
        let input = input(megabits: 2, low: 4, highBytes: 250_000)
        #expect(!decide(&planner, input).cuts.isEmpty)
        var alone = input
        alone.others = []
        #expect(decide(&planner, alone, now: at(30) - .nanoseconds(1)).isLowBlocked)
        #expect(!decide(&planner, alone, now: at(30)).isLowBlocked)
        #expect(decide(&planner, alone, now: at(30)).isContended)
    }

    @Test func `a new contention does not count the excess of the one before`() {
        var planner = PreemptionPlanner()
        var first = input(megabits: 100, low: 4, highBytes: nil) { $0.isResumable = false }
        first.lowRate = 100 * megabit
        #expect(decide(&planner, first).cuts.isEmpty)
        var none = first
        none.highCount = 0
        #expect(!decide(&planner, none, now: at(2)).isContended)
        let second = decide(&planner, first, now: at(10))
        #expect(second.isContended && second.cuts.isEmpty)
    }

    @Test func `between two waves transfers are held back and not cut`() {
        var planner = PreemptionPlanner()
        let decision = decide(&planner, input(megabits: 2, low: 4, highBytes: 250_000), mayCut: false)
        #expect(decision.cuts.isEmpty && decision.isContended)
    }

    @Test func `a transfer that takes more than its percent for two seconds is cut`() {
        var planner = PreemptionPlanner()
        var input = input(megabits: 20, low: 4, highBytes: 25_000_000)
        _ = decide(&planner, input)
        input.highRate = 5 * megabit
        #expect(decide(&planner, input, now: at(3)).cuts.isEmpty, "the high transfer is slow by itself")
        input.lowRate = 10 * megabit
        #expect(decide(&planner, input, now: at(3)).cuts.isEmpty)
        #expect(decide(&planner, input, now: at(5)).cuts.count == 4)
    }

}
