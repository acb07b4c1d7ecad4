import Host
import Testing

@Suite struct BootTimeTests {
    @Test func `the clock never runs backwards`() {
        let first = BootTime.now
        let second = BootTime.now
        #expect(second >= first && second - first >= .zero)
    }

    @Test func `it runs whenever the monotonic clock runs`() {
        // A sleep of the machine between the readings only makes the distance greater.
        let first = (boot: BootTime.now, monotonic: MonotonicTime.now)
        var last = MonotonicTime.now
        while last - first.monotonic < .milliseconds(2) { last = .now }
        #expect(BootTime.now - first.boot >= last - first.monotonic)
        #expect(BootTime.now.nanoseconds >= last.nanoseconds, "both begin at the boot")
    }

    @Test func `a distance that overflows stops at the ends of the clock`() {
        let (early, late) = (BootTime(nanoseconds: .min), BootTime(nanoseconds: .max))
        #expect(late - early == .nanoseconds(Int64.max) && early - late == .nanoseconds(Int64.min))
        #expect(early < late)
    }
}
