import Commands
import Host
import Testing

@testable import NetworkControl

struct LinkControllerTests {
    /// A link that carried eight transfers at 50 Mbit/s, and then 5 Mbit/s for all: the limit fell with the
    /// rate.
    private func fallen() -> (link: LinkController, now: MonotonicTime) {
        var link = LinkController(key: LinkKey(destination("a"), .up), policy: NetworkPolicy(), now: at(0))
        var now = at(0)
        for _ in 0..<40 {
            now += quarter
            link.observe(waiting(50 * megabit, transfers: 8), maxLimit: 8, now: now)
        }
        for _ in 0..<8 {
            now += quarter
            link.observe(waiting(5 * megabit, transfers: 8), maxLimit: 8, now: now)
        }
        return (link, now)
    }

    private func waiting(_ rate: Double, transfers: Int) -> LinkInterval {
        var interval = interval(rate, transfers: transfers)
        interval.isAwaited = true
        return interval
    }

    @Test func `a link does not become better because fewer transfers share it`() {
        var (link, now) = fallen()
        #expect(link.level == .degraded)
        for _ in 0..<80 {
            now += quarter
            link.observe(waiting(5 * megabit, transfers: 1), maxLimit: 8, now: now)
        }
        #expect(link.level == .degraded)
    }

    @Test func `one transfer without a backlog is judged by its own share`() {
        var (link, now) = fallen()
        for _ in 0..<16 {
            now += quarter
            link.observe(interval(6.25 * megabit, transfers: 1), maxLimit: 8, now: now)
        }
        #expect(link.level == .good)
    }

    @Test func `a link that recovers is good again with as many transfers as before`() {
        var (link, now) = fallen()
        for _ in 0..<16 {
            now += quarter
            link.observe(waiting(50 * megabit, transfers: link.concurrency.limit), maxLimit: 8, now: now)
        }
        #expect(link.level == .good)
    }
}
