import Commands
import Host
import Testing

@testable import NetworkControl

@Suite struct PreemptionPlannerTests {
    private func contest(
        megabits: Double, low: Int, highBytes: Int64?, poor: Bool = false,
        _ change: (inout TransferSample) -> Void = { _ in }
    ) -> PreemptionPlanner.PreemptionInput {
        var contest = PreemptionPlanner.PreemptionInput()
        contest.capacity = megabits * megabit
        contest.isSaturated = true
        if poor { contest.level = .poor }
        contest.highCount = 1
        contest.highRemaining = highBytes
        contest.others = (0..<low).map {
            var one = sample(UInt64($0) + 10)
            change(&one)
            return one
        }
        return contest
    }

    private func plan(
        _ planner: inout PreemptionPlanner, _ contest: PreemptionPlanner.PreemptionInput, mayCut: Bool = true,
        now: MonotonicTime = at(0),
        restarts: Int = 0
    ) -> PreemptionPlanner.PreemptionDecision {
        planner.plan(
            contest, rules: PreemptionRules(), standstill: .seconds(60), mayCut: mayCut, now: now,
            restarts: { _ in restarts })
    }

    private func first(_ contest: PreemptionPlanner.PreemptionInput, restarts: Int = 0)
        -> PreemptionPlanner.PreemptionDecision
    {
        var planner = PreemptionPlanner()
        return plan(&planner, contest, restarts: restarts)
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
        // Sharing costs nothing worth speaking of.
        Row(megabits: 100, low: 8, bytes: 250_000, contended: false, cuts: 0),
        Row(megabits: 1000, low: 32, bytes: 900_000, contended: false, cuts: 0),
        // Held back in place: what drains is a tenth of the time alone.
        Row(megabits: 20, low: 8, bytes: 2_500_000, contended: true, cuts: 0),
        Row(megabits: 20, low: 1, bytes: 2_500_000, contended: true, cuts: 0),
        Row(megabits: 100, low: 8, bytes: nil, contended: true, cuts: 0),
        // What drains lasts as long as the high transfer itself: as many are cut as it takes.
        Row(megabits: 2, low: 8, bytes: 250_000, contended: true, cuts: 7),
        Row(megabits: 2, low: 4, bytes: 250_000, contended: true, cuts: 3),
        Row(megabits: 2, low: 1, bytes: 250_000, contended: true, cuts: 0),
        // A long one can wait for the drain.
        Row(megabits: 2, low: 4, bytes: 25_000_000, contended: true, cuts: 0),
    ]

    @Test(arguments: rows) func `leaves alone, holds back or cuts`(row: Row) {
        let plan = first(contest(megabits: row.megabits, low: row.low, highBytes: row.bytes))
        #expect(plan.isContended == row.contended)
        #expect(plan.isHeadStart == row.contended)
        #expect(plan.cuts.count == row.cuts)
    }

    @Test func `a short high transfer begins nothing, and ends nothing that a long one has begun`() {
        var planner = PreemptionPlanner()
        let short = contest(megabits: 100, low: 8, highBytes: 10_000)
        #expect(plan(&planner, short) == PreemptionPlanner.PreemptionDecision())
        #expect(plan(&planner, contest(megabits: 100, low: 8, highBytes: 2_500_000), now: at(1)).isContended)
        #expect(plan(&planner, short, now: at(2)).isContended)
    }

    @Test func `an idle link needs no room`() {
        var contest = contest(megabits: 2, low: 4, highBytes: 250_000)
        contest.isSaturated = false
        #expect(first(contest) == PreemptionPlanner.PreemptionDecision())
    }

    @Test func `on a poor link all go`() {
        #expect(first(contest(megabits: 0.2, low: 4, highBytes: 250_000, poor: true)).cuts.count == 4)
    }

    @Test func `what is nearly done, may not run again, or is of middle quality stays`() {
        func cuts(_ change: (inout TransferSample) -> Void) -> Int {
            first(contest(megabits: 0.2, low: 4, highBytes: 250_000, poor: true, change)).cuts.count
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

    @Test func `what starts over is cut where that wastes less than a second, and three times at most`() {
        var contest = contest(megabits: 2, low: 4, highBytes: 250_000) {
            $0.isResumable = false
            $0.acknowledged = 200_000
        }
        #expect(first(contest).cuts.count == 3)
        #expect(first(contest, restarts: 3).cuts.isEmpty)
        for index in contest.others.indices { contest.others[index].acknowledged = 300_000 }
        #expect(first(contest).cuts.isEmpty)
    }

    @Test func `victims are the lowest first, then the cheapest, then the longest`() {
        let order = PreemptionPlanner.victims([
            sample(1, .utility, acknowledged: 5, resumable: false), sample(2, .background, acknowledged: 9),
            sample(3, .utility, remaining: 1), sample(4, .utility, remaining: 9),
            sample(5, .default), sample(6, .background, acknowledged: 4, resumable: false),
        ])
        #expect(order.map(\.id) == [2, 6, 4, 3, 1].map(id))
    }

    @Test func `the head start lasts two seconds, and high quality is over after one of idleness`() {
        var planner = PreemptionPlanner()
        var contest = contest(megabits: 20, low: 4, highBytes: 25_000_000)
        #expect(plan(&planner, contest, now: at(0)).isHeadStart)
        #expect(plan(&planner, contest, now: at(2) - .nanoseconds(1)).isHeadStart)
        #expect(!plan(&planner, contest, now: at(2)).isHeadStart)
        contest.highCount = 0
        #expect(plan(&planner, contest, now: at(3) - .nanoseconds(1)).isContended)
        #expect(!plan(&planner, contest, now: at(3)).isContended)
    }

    @Test func `the head start begins anew where the link loses more than half of what it carried`() {
        var planner = PreemptionPlanner()
        let wide = contest(megabits: 50, low: 4, highBytes: 90_000_000)
        #expect(plan(&planner, wide).isHeadStart)
        #expect(!plan(&planner, wide, now: at(3)).isHeadStart)
        let less = contest(megabits: 30, low: 4, highBytes: 90_000_000)
        #expect(!plan(&planner, less, now: at(4)).isHeadStart)
        var narrow = contest(megabits: 2, low: 4, highBytes: 90_000_000) { $0.isResumable = false }
        narrow.level = .degraded
        for index in 0..<2 { narrow.others[index].isResumable = true }
        let anew = plan(&planner, narrow, now: at(5))
        #expect(anew.isHeadStart)
        #expect(Set(anew.cuts) == Set(narrow.others.prefix(2).map(\.id)), "what can be resumed, and nothing else")
        #expect(plan(&planner, narrow, now: at(6)).isHeadStart)
        #expect(!plan(&planner, narrow, now: at(7)).isHeadStart)
    }

    @Test func `cut ones stay out for half of the longest standstill`() {
        var planner = PreemptionPlanner()
        let contest = contest(megabits: 2, low: 4, highBytes: 250_000)
        #expect(!plan(&planner, contest).cuts.isEmpty)
        var alone = contest
        alone.others = []
        #expect(plan(&planner, alone, now: at(30) - .nanoseconds(1)).isLowClosed)
        #expect(!plan(&planner, alone, now: at(30)).isLowClosed)
        #expect(plan(&planner, alone, now: at(30)).isContended)
    }

    @Test func `a short high transfer says nothing of who defied the one before`() {
        var planner = PreemptionPlanner()
        var first = contest(megabits: 100, low: 4, highBytes: nil) { $0.isResumable = false }
        first.lowRate = 100 * megabit
        #expect(plan(&planner, first).cuts.isEmpty)
        var none = first
        none.highCount = 0
        #expect(!plan(&planner, none, now: at(2)).isContended)
        let second = plan(&planner, first, now: at(10))
        #expect(second.isContended && second.cuts.isEmpty)
    }

    @Test func `without leave nobody is cut, but all are held back`() {
        var planner = PreemptionPlanner()
        let plan = plan(&planner, contest(megabits: 2, low: 4, highBytes: 250_000), mayCut: false)
        #expect(plan.cuts.isEmpty && plan.isContended)
    }

    @Test func `what takes more than its percent is cut in the end`() {
        var planner = PreemptionPlanner()
        var contest = contest(megabits: 20, low: 4, highBytes: 25_000_000)
        _ = plan(&planner, contest)
        contest.highRate = 5 * megabit
        #expect(plan(&planner, contest, now: at(3)).cuts.isEmpty, "it is slow by itself")
        contest.lowRate = 10 * megabit
        #expect(plan(&planner, contest, now: at(3)).cuts.isEmpty)
        #expect(plan(&planner, contest, now: at(5)).cuts.count == 4)
    }

}
