import Host
import Testing

@testable import Coordination

@Suite struct PeriodicTimerTests {
    @Test func `a timer is due once in each interval`() {
        var timer = PeriodicTimer()
        #expect(value(timer.isDue(after(1), every: .milliseconds(250))))
        #expect(!value(timer.isDue(after(1.249), every: .milliseconds(250))))
        #expect(value(timer.isDue(after(1.25), every: .milliseconds(250))))
        #expect(timer.next == after(1.5))
    }

    @Test func `a timer with a phase is due at the same points of the clock`() {
        var timer = PeriodicTimer()
        #expect(value(timer.isDue(after(1), every: .milliseconds(250), phase: .milliseconds(40))))
        #expect(timer.next == after(1.04))
        #expect(value(timer.isDue(after(1.1), every: .milliseconds(250), phase: .milliseconds(40))), "a late call")
        #expect(timer.next == after(1.29), "does not move the next one")
    }

    @Test func `a timer that is fired is due at once`() {
        var timer = PeriodicTimer()
        #expect(value(timer.isDue(after(1), every: .milliseconds(250))))
        timer.fireNow()
        #expect(value(timer.isDue(after(1.001), every: .milliseconds(250))))
    }
}
