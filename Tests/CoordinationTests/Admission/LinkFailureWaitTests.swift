import Commands
import Host
import Testing

@testable import Coordination

@Suite struct LinkFailureWaitTests {
    private let host = Destination(scheme: "http", host: "a", port: 80)
    private func id(_ number: UInt64) -> CommandID { CommandID(high: number, low: 0) }

    @Test func `each failure doubles the wait, from one second to a minute, give or take a quarter`() {
        for (failures, seconds) in [(1, 1.0), (2, 2), (3, 4), (6, 32), (7, 60), (40, 60)] {
            let waits = [0, 0.5, 0.999].map {
                LinkFailureWaits.wait(afterFailures: failures, chance: $0).seconds / seconds
            }
            #expect(zip(waits, [0.75, 1, 1.25]).allSatisfy { abs($0 - $1) < 0.01 }, "\(failures): \(waits)")
        }
    }

    @Test func `a command waits until its time, and longer after the next failure`() {
        var waits = LinkFailureWaits()
        waits.failed(id(1), to: host, chance: 0.5, now: .zero)
        #expect(waits.holds(id(1)) && waits.nextDue == after(1))
        #expect(waits.takeDue(now: after(1) - .nanoseconds(1)).isEmpty)
        #expect(waits.takeDue(now: after(1)) == [id(1)])
        #expect(!waits.holds(id(1)))
        waits.failed(id(1), to: host, chance: 0.5, now: after(10))
        #expect(waits.takeDue(now: after(12) - .nanoseconds(1)).isEmpty)
        #expect(waits.takeDue(now: after(12)) == [id(1)])
    }

    @Test func `an answer of the destination ends all of its waits`() {
        var waits = LinkFailureWaits()
        for number in UInt64(1)...3 { waits.failed(id(number), to: host, chance: 0.5, now: .zero) }
        waits.failed(id(9), to: Destination(scheme: "http", host: "b", port: 80), chance: 0.5, now: .zero)
        #expect(Set(waits.answered(host)) == [id(1), id(2), id(3)])
        #expect(!waits.holds(id(1)) && waits.holds(id(9)))
        // The next failure counts as the first.
        waits.failed(id(1), to: host, chance: 0.5, now: .zero)
        #expect(Set(waits.takeDue(now: after(1))) == [id(1), id(9)])
    }

    @Test func `a new highest offset begins the waits again`() {
        var waits = LinkFailureWaits()
        for _ in 0..<7 { waits.failed(id(1), to: host, offset: 100, chance: 0.5, now: .zero) }
        #expect(waits.takeDue(now: after(59)).isEmpty)
        waits.failed(id(1), to: host, offset: 101, chance: 0.5, now: .zero)
        #expect(waits.takeDue(now: after(1)) == [id(1)])
        // An offset that falls and rises again.
        waits.failed(id(1), to: host, offset: 0, chance: 0.5, now: .zero)
        waits.failed(id(1), to: host, offset: 101, chance: 0.5, now: .zero)
        #expect(waits.takeDue(now: after(3)).isEmpty)
        #expect(waits.takeDue(now: after(4)) == [id(1)])
    }

    @Test func `a command that has ended is forgotten`() {
        var waits = LinkFailureWaits()
        waits.failed(id(1), to: host, chance: 0.5, now: .zero)
        waits.forget(id(1))
        #expect(!waits.holds(id(1)) && waits.waiting(for: host).isEmpty && waits.takeDue(now: after(9)).isEmpty)
    }
}

@Suite struct ProbeBudgetTests {
    @Test func `failed attempts per second are bounded over all destinations`() {
        var budget = ProbeBudget()
        var attempts = 0
        for step in 0..<1000 {
            let now = after(Double(step) / 100)
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
            #expect(budget.admits(isFailing: true, slots: 64, now: .zero))
            budget.began(isFailing: true, now: .zero)
            budget.ended(wasFailing: true, isAnswered: true, now: .zero)
        }
    }

    @Test func `attempts hold at most three quarters of the slots`() {
        var budget = ProbeBudget()
        for _ in 0..<48 { budget.began(isFailing: false, now: .zero) }
        #expect(!budget.admits(isFailing: false, slots: 64, now: .zero) && budget.free(slots: 64) == 0)
        budget.ended(wasFailing: false, isAnswered: false, now: .zero)
        #expect(budget.admits(isFailing: false, slots: 64, now: .zero))
    }
}
