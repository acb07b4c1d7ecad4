import Commands
import Host
import Testing

@testable import NetworkControl

struct LinkControllerTests {
    /// Eight transfers at 50 Mbit/s, and then 5 for all: the limit falls with them.
    private func fallen() -> (link: LinkController, now: MonotonicTime) {
        var link = LinkController(key: LinkKey(destination("a"), .up), policy: NetworkPolicy(), now: at(0))
        var now = at(0)
        for _ in 0..<40 {
            now += quarter
            link.observe(waiting(50 * megabit, transfers: 8), highest: 8, now: now)
        }
        for _ in 0..<8 {
            now += quarter
            link.observe(waiting(5 * megabit, transfers: 8), highest: 8, now: now)
        }
        return (link, now)
    }

    private func waiting(_ rate: Double, transfers: Int) -> LinkInterval {
        var tick = tick(rate, transfers: transfers)
        tick.isAwaited = true
        return tick
    }

    @Test("a link is no better because fewer transfers share it")
    func fewerShare() {
        var (link, now) = fallen()
        #expect(link.level == .degraded)
        for _ in 0..<80 {
            now += quarter
            link.observe(waiting(5 * megabit, transfers: 1), highest: 8, now: now)
        }
        #expect(link.level == .degraded)
    }

    @Test("one transfer that nobody waits behind is judged by its own share")
    func nobodyWaits() {
        var (link, now) = fallen()
        for _ in 0..<16 {
            now += quarter
            link.observe(tick(6.25 * megabit, transfers: 1), highest: 8, now: now)
        }
        #expect(link.level == .good)
    }

    @Test("a link that is back is good again with as many transfers as before")
    func back() {
        var (link, now) = fallen()
        for _ in 0..<16 {
            now += quarter
            link.observe(waiting(50 * megabit, transfers: link.concurrency.limit), highest: 8, now: now)
        }
        #expect(link.level == .good)
    }
}
