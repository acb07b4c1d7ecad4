import Host
import Testing

@Suite struct MonotonicTimeTests {
    @Test func `the clock never runs backwards`() {
        let first = MonotonicTime.now
        #expect(MonotonicTime.now >= first)
        #expect(first > .zero)
    }

    @Test func `a wait added to a point is the difference between the two`() {
        let start = MonotonicTime(nanoseconds: 1_000)
        #expect(start + .milliseconds(5) - start == .milliseconds(5))
        #expect(start + .milliseconds(5) - .milliseconds(5) == start)
        #expect(start - (start + .seconds(2)) == .seconds(-2))
    }

    @Test func `arithmetic that overflows stops at the ends of the clock`() {
        #expect(MonotonicTime.distantFuture + .seconds(1) == .distantFuture)
        #expect(MonotonicTime.zero + .seconds(Int64.max) == .distantFuture)
        #expect(MonotonicTime(nanoseconds: -2) - .seconds(Int64.max) == MonotonicTime(nanoseconds: .min))
        #expect(MonotonicTime.distantFuture - MonotonicTime(nanoseconds: -1) == .nanoseconds(Int64.max))
    }

    @Test(arguments: [
        (Duration.zero, Int64(0)), (.seconds(1), 1_000_000_000), (.nanoseconds(-3), -3),
        (.seconds(Int64.max), Int64.max),
        (.seconds(Int64.min), Int64.min),
    ])
    func `nanoseconds of a duration are whole and clamped`(duration: Duration, nanoseconds: Int64) {
        #expect(duration.nanoseconds == nanoseconds)
    }
}
