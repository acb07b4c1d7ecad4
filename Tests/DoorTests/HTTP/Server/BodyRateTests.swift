import Host
import Testing

@testable import Door

struct BodyRateTests {
    private func time(_ seconds: Double) -> MonotonicTime { .zero + .seconds(seconds) }

    @Test func `a body that stalls is too slow after the window`() {
        var rate = BodyRate(rate: 1024, window: .seconds(30))
        rate.beginWait(at: time(0))
        #expect(rate.check(at: time(10)) == .checkAfter(.seconds(20)))
        #expect(rate.check(at: time(30)) == .tooSlow)
    }

    @Test func `only the time of waiting counts`() {
        var rate = BodyRate(rate: 1024, window: .seconds(30))
        rate.beginWait(at: time(0))
        rate.endWait(at: time(1), bytes: 10)
        // The server writes to a slow disk for an hour.
        rate.beginWait(at: time(3600))
        #expect(rate.check(at: time(3610)) == .checkAfter(.seconds(19)))
        #expect(rate.check(at: time(3629)) == .tooSlow)
    }

    @Test func `each window must bring its bytes`() {
        var rate = BodyRate(rate: 1024, window: .seconds(30))
        rate.beginWait(at: time(0))
        rate.endWait(at: time(30), bytes: 30 * 1024)
        #expect(rate.check(at: time(30)) == .checkAfter(.seconds(30)))
        rate.beginWait(at: time(30))
        #expect(rate.check(at: time(60)) == .tooSlow)
    }

    @Test func `a new request starts anew`() {
        var rate = BodyRate(rate: 1024, window: .seconds(30))
        rate.beginWait(at: time(0))
        rate.begin()
        #expect(rate.check(at: time(60)) == .checkAfter(.seconds(30)))
    }
}
