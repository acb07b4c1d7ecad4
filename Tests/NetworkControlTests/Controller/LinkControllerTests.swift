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

    @Test func `a link without a network between is good once it carries bytes, and its rate is not judged`() {
        var link = LinkController(
            key: LinkKey(destination("a"), .up), policy: NetworkPolicy(), isLocal: true, now: at(0))
        let limit = link.concurrency.limit
        link.observe(interval(0, transfers: 0, flowing: 0), maxLimit: limit, now: at(0.25))
        #expect(link.level == .unknown)
        link.observe(interval(500 * megabit), maxLimit: limit, now: at(0.5))
        #expect(link.level == .good)
        link.observe(interval(0.01 * megabit), maxLimit: limit, now: at(0.75))
        #expect(link.level == .good)
        let reason = link.explanation(now: at(1)).reason
        #expect(reason.rule == .fixed && reason.count == limit)
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
