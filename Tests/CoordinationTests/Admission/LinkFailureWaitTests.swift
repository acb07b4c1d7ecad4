import Commands
import Testing

@testable import Coordination

@Suite struct LinkFailureWaitTests {
    private let second: Int64 = 1_000_000_000
    private let host = Destination(scheme: "http", host: "a", port: 80)
    private func id(_ number: UInt64) -> CommandID { CommandID(high: number, low: 0) }

    @Test func `each failure doubles the wait, from one second to a minute, give or take a quarter`() {
        for (failures, seconds) in [(1, 1.0), (2, 2), (3, 4), (6, 32), (7, 60), (40, 60)] {
            let waits = [0, 0.5, 0.999].map {
                Double(LinkFailureWaits.wait(afterFailures: failures, chance: $0)) / 1e9 / seconds
            }
            #expect(zip(waits, [0.75, 1, 1.25]).allSatisfy { abs($0 - $1) < 0.01 }, "\(failures): \(waits)")
        }
    }

    @Test func `a command waits until its time, and longer after the next failure`() {
        var waits = LinkFailureWaits()
        waits.failed(id(1), to: host, chance: 0.5, now: 0)
        #expect(waits.holds(id(1)) && waits.nextDue == second)
        #expect(waits.takeDue(now: second - 1).isEmpty)
        #expect(waits.takeDue(now: second) == [id(1)])
        #expect(!waits.holds(id(1)))
        waits.failed(id(1), to: host, chance: 0.5, now: 10 * second)
        #expect(waits.takeDue(now: 12 * second - 1).isEmpty)
        #expect(waits.takeDue(now: 12 * second) == [id(1)])
    }

    @Test func `an answer of the destination ends all of its waits`() {
        var waits = LinkFailureWaits()
        for number in UInt64(1)...3 { waits.failed(id(number), to: host, chance: 0.5, now: 0) }
        waits.failed(id(9), to: Destination(scheme: "http", host: "b", port: 80), chance: 0.5, now: 0)
        #expect(Set(waits.answered(host)) == [id(1), id(2), id(3)])
        #expect(!waits.holds(id(1)) && waits.holds(id(9)))
        // The next failure is the first again.
        waits.failed(id(1), to: host, chance: 0.5, now: 0)
        #expect(Set(waits.takeDue(now: second)) == [id(1), id(9)])
    }

    @Test func `a command that has ended is forgotten`() {
        var waits = LinkFailureWaits()
        waits.failed(id(1), to: host, chance: 0.5, now: 0)
        waits.forget(id(1))
        #expect(!waits.holds(id(1)) && waits.waiting(for: host).isEmpty && waits.takeDue(now: 9 * second).isEmpty)
    }
}

@Suite struct ProbeBudgetTests {
    private let second: Int64 = 1_000_000_000

    @Test func `failed attempts are bounded by the second over all destinations`() {
        var budget = ProbeBudget()
        var attempts = 0
        for step in 0..<1000 {
            let now = Int64(step) * second / 100
            while budget.admits(isFailing: true, slots: 64, now: now) {
                budget.began(isFailing: true, now: now)
                budget.ended(wasFailing: true, isAnswered: false, now: now)
                attempts += 1
            }
        }
        #expect((250...310).contains(attempts), "\(attempts) in 10 s")
    }

    @Test func `attempts that are answered cost nothing`() {
        var budget = ProbeBudget()
        for _ in 0..<10_000 {
            #expect(budget.admits(isFailing: true, slots: 64, now: 0))
            budget.began(isFailing: true, now: 0)
            budget.ended(wasFailing: true, isAnswered: true, now: 0)
        }
    }

    @Test func `attempts hold at most three quarters of the slots`() {
        var budget = ProbeBudget()
        for _ in 0..<48 { budget.began(isFailing: false, now: 0) }
        #expect(!budget.admits(isFailing: false, slots: 64, now: 0) && budget.free(slots: 64) == 0)
        budget.ended(wasFailing: false, isAnswered: false, now: 0)
        #expect(budget.admits(isFailing: false, slots: 64, now: 0))
    }
}

@Suite struct SweepPlanTests {
    private let second: Int64 = 1_000_000_000

    @Test func `few keys are read in every sweep, many only where much has changed`() {
        var plan = SweepPlan(shardCount: 2)
        #expect(plan.way(of: 0, hasBarren: false, now: 0) == .keys)
        plan.readKeys(10, of: 0, newest: 5, now: 0)
        plan.readKeys(20_000, of: 1, newest: 70_000, now: 0)
        #expect(plan.way(of: 0, hasBarren: false, now: second) == .keys)
        #expect(plan.way(of: 1, hasBarren: false, now: second) == .changes(after: 70_000))
        plan.readChanges(of: 1, through: 70_400)
        #expect(plan.way(of: 1, hasBarren: false, now: second) == .changes(after: 70_400))
        // What was passed over is looked at once a minute, everything every ten minutes.
        #expect(plan.way(of: 1, hasBarren: true, now: 61 * second) == .keys)
        #expect(plan.way(of: 1, hasBarren: false, now: 599 * second) == .changes(after: 70_400))
        #expect(plan.way(of: 1, hasBarren: false, now: 601 * second) == .keys)
        plan.forget([1])
        #expect(plan.way(of: 1, hasBarren: false, now: second) == .keys)
    }
}
