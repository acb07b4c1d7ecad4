import Host
import Testing

@testable import Coordination

@Suite struct AwakeTimeTests {
    @Test func `the time between ticks counts once`() {
        var awake = AwakeTime()
        awake.tick(now: after(10))
        #expect(value(awake.take()) == .zero, "nothing is known of the time before the first tick")
        awake.tick(now: after(10.1))
        awake.tick(now: after(10.25))
        #expect(value(awake.take()) == .milliseconds(250))
        #expect(value(awake.take()) == .zero)
    }

    @Test func `a machine that slept was not awake`() {
        var awake = AwakeTime()
        awake.tick(now: .zero)
        awake.tick(now: after(3600))
        #expect(value(awake.take()) == AwakeTime.maxStep)
    }
}
