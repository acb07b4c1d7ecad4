import Commands
import Host
import TestSupport
import Testing

@testable import NetworkControl

@Suite struct PushbackLimitTests {
    @Test func `each request that is not refused within a second raises the limit, until one is refused`() {
        var pushback = PushbackLimit()
        for number in UInt64(1)...4 { pushback.sent(id(number), now: at(0)) }
        pushback.creditUnrefused(now: at(1) - .nanoseconds(1))
        #expect(pushback.limit == 4)
        for _ in 0..<3 { pushback.creditUnrefused(now: at(1)) }
        #expect(pushback.limit == 8, "each request counts once")
        for number in UInt64(5)...8 { pushback.sent(id(number), now: at(1)) }
        pushback.creditUnrefused(now: at(2))
        #expect(pushback.limit == 12)
        pushback.refused(id(8), inFlight: 8, now: at(2))
        pushback.creditUnrefused(now: at(9))
        #expect(pushback.limit == 7)
    }

    /// Sends requests and has them accepted one after another, each after a tenth of a second.
    private func accept(
        _ limit: inout PushbackLimit, _ numbers: ClosedRange<UInt64>, inFlight: Int, from now: MonotonicTime
    ) {
        for number in numbers { limit.sent(id(number), now: now) }
        for number in numbers { limit.accepted(id(number), inFlight: inFlight, now: now + .milliseconds(100)) }
    }

    @Test func `the limit doubles in a round while every request is accepted`() {
        var limit = PushbackLimit()
        #expect(limit.limit == 4)
        accept(&limit, 1...4, inFlight: 4, from: at(0))
        #expect(limit.limit == 8)
        accept(&limit, 5...12, inFlight: 8, from: at(1))
        #expect(limit.limit == 16)
        #expect(!limit.isBarred)
    }

    @Test func `the limit does not grow beyond twice what was in flight`() {
        var limit = PushbackLimit()
        for number in UInt64(1)...100 { accept(&limit, number...number, inFlight: 3, from: at(Double(number))) }
        #expect(limit.limit == 6)
    }

    @Test func `a request that makes progress counts once`() {
        var limit = PushbackLimit()
        limit.sent(id(1), now: at(0))
        for step in Int64(1)...10 { limit.accepted(id(1), inFlight: 4, hasEnded: false, now: at(Double(step))) }
        #expect(limit.limit == 5)
        limit.accepted(id(1), inFlight: 4, now: at(11))
        #expect(limit.limit == 5)
    }

    @Test
    func `a refusal lowers the limit to the requests accepted beside it, and a second one pauses the destination`() {
        var limit = PushbackLimit()
        accept(&limit, 1...4, inFlight: 4, from: at(0))
        for number in UInt64(5)...12 { limit.sent(id(number), now: at(1)) }
        limit.refused(id(12), inFlight: 8, now: at(1.1))
        limit.refused(id(11), inFlight: 7, now: at(1.2))
        #expect(limit.limit == 6 && limit.isBarred && !limit.isConfirmed)
        #expect(!limit.isPausing(now: at(1.3)), "one refusal may be caused by one URL")
        limit.sent(id(20), now: at(1.4))
        limit.refused(id(20), inFlight: 7, now: at(1.5))
        #expect(limit.limit == 6 && limit.isConfirmed)
        #expect(limit.isPausing(now: at(1.6)) && limit.isPausing(now: at(1.74)))
        #expect(!limit.isPausing(now: at(1.75)))
    }

    @Test func `a number that was refused is tried at once, and then after 1, 4, 15, 60 and 120 s`() {
        var limit = PushbackLimit()
        limit.restore(limit: 7)
        var number: UInt64 = 0
        var tries: [Int64] = []
        var refusedAt: MonotonicTime?
        for step in Int64(1)...6000 {
            let now = at(Double(step) / 10)
            guard !limit.isPausing(now: now) else { continue }
            // Six are accepted after half of a step; a seventh is refused.
            var ids = (0..<limit.limit).map { id(number + UInt64($0)) }
            number += UInt64(ids.count)
            for id in ids { limit.sent(id, now: now) }
            if ids.count > 6, let last = ids.popLast() {
                if let refusedAt { tries.append((now - refusedAt).components.seconds) }
                refusedAt = now
                limit.refused(last, inFlight: 7, now: now + .milliseconds(10))
            }
            for id in ids { limit.accepted(id, inFlight: 6, now: now + .milliseconds(50)) }
        }
        #expect(tries == [0, 1, 4, 15, 60, 120, 120, 120, 120])
    }

    @Test func `a command that is refused again does not lower the limit`() {
        var limit = PushbackLimit()
        accept(&limit, 1...4, inFlight: 4, from: at(0))
        limit.sent(id(100), now: at(1))
        limit.refused(id(100), inFlight: 5, now: at(1.001))
        #expect(limit.limit == 4)
        accept(&limit, 5...12, inFlight: 5, from: at(1))
        let before = limit.limit
        for number in Int64(2)..<100 {
            limit.sent(id(100), now: at(Double(number)))
            limit.refused(id(100), inFlight: 5, now: at(Double(number) + 0.001))
            #expect(limit.limit == before && !limit.isPausing(now: at(Double(number) + 0.002)))
            // Another request is accepted in between.
            accept(&limit, UInt64(number) + 1000...UInt64(number) + 1000, inFlight: 2, from: at(Double(number)))
        }
    }

    @Test func `a few refusals among many acceptances do not lower the limit`() {
        var limit = PushbackLimit()
        accept(&limit, 1...200, inFlight: 8, from: at(0))
        #expect(limit.limit == 16)
        limit.sent(id(1000), now: at(1))
        limit.refused(id(1000), inFlight: 8, now: at(1.001))
        #expect(limit.limit == 16 && !limit.isBarred)
        // Counts lose half of their weight in 30 s.
        limit.sent(id(1001), now: at(200))
        limit.refused(id(1001), inFlight: 8, now: at(200.001))
        #expect(limit.limit == 7 && limit.isBarred)
    }

    @Test func `three refusals in a row lower the limit`() {
        var limit = PushbackLimit()
        accept(&limit, 1...4, inFlight: 4, from: at(0))
        accept(&limit, 5...12, inFlight: 8, from: at(1))
        accept(&limit, 13...28, inFlight: 16, from: at(2))
        for number in UInt64(40)...43 {
            limit.sent(id(number), now: at(3))
            limit.refused(id(number), inFlight: 7 - Int(number - 40), now: at(3.001))
        }
        #expect(limit.limit == 3, "the third had five in flight, the fourth four")
    }

    @Test func `a request that is refused alone does not lower the limit`() {
        var limit = PushbackLimit()
        for number in UInt64(1)...20 { limit.refused(id(number), inFlight: 1, now: at(Double(number))) }
        #expect(limit.limit == 4)
        #expect(!limit.isBarred)
    }

    @Test func `the limit starts anew on another route, and continues in another coordinator`() {
        var limit = PushbackLimit()
        limit.restore(limit: 20)
        #expect(limit.limit == 20)
        limit.refused(id(1), inFlight: 9, now: at(0))
        limit.restart()
        #expect(limit == PushbackLimit())
    }

    // MARK: Simulation

    /// A server, a dispatcher that sends as many as the limit allows, and the time between them.
    private struct Rig {
        var limit = PushbackLimit()
        var random: SeededRandom
        var now = 0.0
        var number: UInt64 = 0
        /// Requests that the server has accepted, and when each ends.
        var running: [(id: CommandID, ends: Double)] = []
        /// Requests that it has refused, and when the answer arrives.
        var refusing: [(id: CommandID, arrives: Double)] = []
        /// URLs that are always refused, and when each is tried again: after 5 s, and three times that.
        var bad: [(id: CommandID, at: Double, wait: Double)] = []
        /// Commands that were refused for the number wait this long, in seconds; nil sends another in their
        /// place.
        var backoff: ClosedRange<Double>?
        var retries: [(id: CommandID, at: Double)] = []
        var accepted = 0
        var refused = 0
        /// Accepted requests in flight, times their seconds.
        var inFlight = 0.0

        var clock: MonotonicTime { at(now) }

        init(seed: UInt64) { random = SeededRandom(seed: seed) }

        /// Advances by 20 ms.
        /// - Parameters:
        ///   - capacity: requests that the server takes at once.
        ///   - maxLimit: what the link allows.
        ///   - waiting: requests that are still to be sent; a refused one waits again.
        ///   - isBad: the next request is refused, whatever the number.
        mutating func step(
            capacity: Int, maxLimit: Int = .max, waiting: inout Int,
            isBad: (inout SeededRandom) -> Bool = { _ in false }
        ) {
            now += 0.02
            for one in running where one.ends <= now {
                limit.accepted(one.id, inFlight: running.count + refusing.count, now: clock)
                running.removeAll { $0.id == one.id }
                accepted += 1
            }
            for one in refusing where one.arrives <= now {
                limit.refused(one.id, inFlight: running.count + refusing.count, now: clock)
                refusing.removeAll { $0.id == one.id }
                refused += 1
                if let index = bad.firstIndex(where: { $0.id == one.id }) { bad[index].at = now + bad[index].wait }
            }
            while waiting > 0, running.count + refusing.count < min(limit.limit, maxLimit), !limit.isPausing(now: clock)
            {
                if let index = bad.firstIndex(where: { $0.at <= now }) {
                    bad[index].at = .infinity
                    bad[index].wait *= 3
                    limit.sent(bad[index].id, now: clock)
                    refusing.append((bad[index].id, now + 0.05))
                    continue
                }
                let next: CommandID
                if let index = retries.firstIndex(where: { $0.at <= now }) {
                    next = retries.remove(at: index).id
                } else {
                    waiting -= 1
                    number += 1
                    next = id(number)
                }
                limit.sent(next, now: clock)
                if isBad(&random) {
                    bad.append((next, .infinity, 5))
                    refusing.append((next, now + 0.05))
                } else if running.count >= capacity {
                    refusing.append((next, now + 0.05))
                    if let backoff {
                        let wait = backoff.lowerBound + (backoff.upperBound - backoff.lowerBound) * random.fraction()
                        retries.append((next, now + wait))
                    } else {
                        waiting += 1
                    }
                } else {
                    running.append((next, now + 0.1 + 0.6 * random.fraction()))
                }
            }
            inFlight += Double(running.count) * 0.02
        }
    }

    @Test(arguments: UInt64(1)...15)
    func `a server that takes six, then twenty, then six refuses few requests and is busy`(seed: UInt64) {
        var rig = Rig(seed: seed)
        for (phase, capacity) in [6, 20, 6].enumerated() {
            rig.accepted = 0
            rig.refused = 0
            var (busy, seconds) = (0.0, 0.0)
            for burst in 0..<24 {
                var waiting = 120
                let before = (rig.inFlight, rig.now)
                while waiting > 0 || !rig.running.isEmpty || !rig.refusing.isEmpty {
                    rig.step(capacity: capacity, waiting: &waiting)
                    guard rig.now - before.1 < 120 else { break }
                }
                // The first half of the bursts finds the number out.
                if burst >= 12 {
                    busy += rig.inFlight - before.0
                    seconds += rig.now - before.1
                }
                rig.now += 5
            }
            let share = Double(rig.refused) / Double(rig.accepted + rig.refused)
            #expect(share <= 0.05, "seed \(seed), phase \(phase): \(rig.refused) of \(rig.accepted + rig.refused)")
            #expect(busy / seconds >= (capacity == 6 ? 5 : 12), "seed \(seed), phase \(phase): \(busy / seconds)")
        }
    }

    @Test func `a URL that is always refused costs other requests next to nothing`() {
        /// Files that are accepted in 20 s; the link carries fifteen at once.
        func accepted(refusals: [Double]) -> Double {
            var rig = Rig(seed: 1)
            var (waiting, due) = (100_000, refusals[...])
            for _ in 0..<1000 {
                let now = rig.now + 0.02
                rig.step(capacity: .max, maxLimit: 15, waiting: &waiting) { _ in
                    guard let next = due.first, next <= now else { return false }
                    due.removeFirst()
                    return true
                }
            }
            return Double(rig.accepted)
        }
        // A second after the first, and then with the backoff of its own failures.
        let share = accepted(refusals: [0, 1.1, 6, 21]) / accepted(refusals: [])
        #expect(share >= 0.97, "\(share)")
    }

    @Test(arguments: UInt64(1)...100)
    func `a server that takes six refuses at most eight of 120 files`(seed: UInt64) {
        var rig = Rig(seed: seed)
        var waiting = 120
        while waiting > 0 || !rig.running.isEmpty || !rig.refusing.isEmpty { rig.step(capacity: 6, waiting: &waiting) }
        #expect(rig.refused <= 8, "seed \(seed)")
    }

    /// In an outage, and right after a server has lost workers, most retries are refused again, as if their URLs
    /// were the cause. It took six, was sent sixteen, and refused 78 % for good.
    @Test(
        arguments: UInt64(1)...20,
        [[(capacity: 20, seconds: 10), (0, 20), (6, 30)], [(20, 30), (6, 20)], [(0, 30), (3, 30), (6, 30)]])
    func `a server that has taken more or nothing refuses few requests in the end`(
        seed: UInt64, history: [(capacity: Int, seconds: Int)]
    ) {
        var rig = Rig(seed: seed)
        rig.backoff = 0.2...0.6
        var waiting = 1_000_000
        for (capacity, seconds) in history + [(6, 60)] {
            (rig.accepted, rig.refused) = (0, 0)
            for _ in 0..<seconds * 50 { rig.step(capacity: capacity, maxLimit: 16, waiting: &waiting) }
        }
        let share = Double(rig.refused) / Double(rig.accepted + rig.refused)
        #expect(share <= 0.05, "seed \(seed): \(rig.refused) of \(rig.accepted + rig.refused)")
    }

    @Test(.enabled(if: runsSlowTests, "slow"), arguments: UInt64(1)...12, [0.002, 0.01, 0.05])
    func `URLs that are always refused hardly lower the limit of other requests`(seed: UInt64, share: Double) {
        var rig = Rig(seed: seed)
        var (waiting, lowest) = (1_000_000, Int.max)
        // The link carries forty. Their refusals also come while the limit still grows.
        for step in 0..<4000 {
            rig.step(capacity: .max, maxLimit: 40, waiting: &waiting) { $0.chance(share) }
            if step > 2500 { lowest = min(lowest, rig.limit.limit) }
        }
        #expect(lowest >= 34, "seed \(seed)")
    }
}
