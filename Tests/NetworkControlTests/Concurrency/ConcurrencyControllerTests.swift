import Host
import Testing

@testable import NetworkControl

/// Scenario tables like Vector's: a curve of goodput over the limit, and ranges for the resulting limits.
@Suite struct ConcurrencyControllerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        /// Goodput by limit and time in seconds.
        var goodput: @Sendable (Int, Double) -> Double
        var maxLimit = 32
        /// Ranges for the mean, the lowest and the highest limit of the last two thirds.
        var mean: ClosedRange<Double>
        var lowest: ClosedRange<Int>
        var highest: ClosedRange<Int>

        static let seconds = 120.0

        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(
            name: "one transfer fills the link", goodput: { _, _ in 100 }, mean: 1...5, lowest: 1...4, highest: 1...8),
        Row(
            name: "ten fill it", goodput: { limit, _ in Double(min(limit, 10)) * 10 }, mean: 9...14, lowest: 7...10,
            highest: 10...17),
        Row(
            name: "more is always better", goodput: { limit, _ in Double(limit) * 10 }, mean: 28...32, lowest: 16...32,
            highest: 32...32),
        Row(
            name: "a shallow knee at eight",
            goodput: { limit, _ in limit <= 8 ? Double(limit) * 12 : 96 + Double(limit - 8) * 0.1 }, mean: 7...12,
            lowest: 6...8, highest: 8...12),
        Row(
            name: "collapse above twelve",
            goodput: { limit, _ in limit <= 12 ? Double(limit) * 8 : max(96 - Double(limit - 12) * 10, 10) },
            mean: 9...13, lowest: 6...12, highest: 12...16),
        Row(
            name: "the policy allows six", goodput: { limit, _ in Double(limit) * 10 }, maxLimit: 6, mean: 5...6,
            lowest: 4...6, highest: 6...6),
        Row(
            name: "100 to 2 to 100 with ten needed",
            goodput: { limit, time in (40..<80).contains(time) ? 2 : Double(min(limit, 10)) * 10 }, mean: 3...12,
            lowest: 1...4, highest: 10...24),
    ]

    @Test func `slow start continues after a short cap`() {
        var controller = ConcurrencyController()
        for step in 0..<24 {
            // The cap is three for a second, as after a refusal.
            let one = interval(Double(controller.limit) * 10, transfers: controller.limit)
            controller.add(
                one, maxLimit: (1..<5).contains(step) ? 3 : 32, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
        }
        #expect(controller.limit >= 8, "\(controller.limit) after 6 s")
    }

    @Test(arguments: rows) func `the limit settles in the range of the scenario`(row: Row) {
        var controller = ConcurrencyController()
        var limits: [Int] = []
        for step in 0..<Int(Row.seconds * 4) {
            let time = Double(step) / 4
            let one = interval(row.goodput(controller.limit, time), transfers: controller.limit)
            controller.add(one, maxLimit: row.maxLimit, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            if time > Row.seconds / 3 { limits.append(controller.limit) }
        }
        let mean = Double(limits.reduce(0, +)) / Double(limits.count)
        #expect(row.mean.contains(mean), "mean \(mean)")
        #expect(row.lowest.contains(limits.min() ?? 0), "lowest \(limits.min() ?? 0)")
        #expect(row.highest.contains(limits.max() ?? 0), "highest \(limits.max() ?? 0)")
    }

    /// Commands without bytes that began together and take `duration` seconds each.
    private func completed(_ limit: Int, duration: Double, at time: Double) -> LinkInterval {
        var interval = interval(0, transfers: limit, flowing: 0)
        interval.completed = (Int(time / duration) - Int((time - 0.25) / duration)) * limit
        return interval
    }

    @Test(arguments: [0.4, 2, 10])
    func `commands without bytes get more slots while that completes more of them`(duration: Double) {
        var controller = ConcurrencyController()
        for step in 1..<Int64(600 * max(duration, 1)) {
            let interval = completed(controller.limit, duration: duration, at: Double(step) / 4)
            controller.add(interval, maxLimit: 32, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
        }
        #expect(controller.limit >= 24)
    }

    @Test func `the limit stops where a server completes no more commands without bytes`() {
        var controller = ConcurrencyController()
        var (limits, done): ([Int], Double) = ([], 0)
        for step in 1..<Int64(480) {
            var interval = interval(0, transfers: controller.limit, flowing: 0)
            done += Double(min(controller.limit, 10)) / 0.4 / 4
            interval.completed = Int(done)
            done -= Double(interval.completed)
            controller.add(interval, maxLimit: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            if step > 160 { limits.append(controller.limit) }
        }
        #expect((7...10).contains(limits.min() ?? 0) && (10...17).contains(limits.max() ?? 0), "\(limits)")
    }

    @Test func `one large file among commands without bytes does not lower the limit`() {
        var controller = ConcurrencyController()
        var limits: [Int] = []
        for step in 1..<Int64(960) {
            var interval = completed(controller.limit, duration: 0.4, at: Double(step) / 4)
            if step % 40 < 4 { interval.rate = 500_000 }
            controller.add(interval, maxLimit: 32, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            if step > 160 { limits.append(controller.limit) }
        }
        #expect(limits.min() ?? 0 >= 16)
    }

    @Test func `the limit doubles while that gains a quarter`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 7) { interval(Double($0) * 10, transfers: $0) }
        #expect(controller.limit == 32)
    }

    @Test func `the limit never rises while fewer transfers run than it allows`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 120) { interval(100, transfers: $0 - 1) }
        #expect(controller.limit == 4)
    }

    @Test func `a slot that is free between two short transfers does not end saturation`() {
        var one = interval(100, transfers: 15)
        one.maxInFlight = 16
        #expect(!one.isSaturated(at: 16))
        one.isAwaited = true
        #expect(one.isSaturated(at: 16))
        one.minInFlight = 13
        #expect(!one.isSaturated(at: 16))
    }

    @Test func `a link is saturated if as many transfers ended within the interval as the limit allows`() {
        var one = interval(100, transfers: 1)
        one.completed = 3
        one.isAwaited = true
        #expect(!one.isSaturated(at: 4))
        one.completed = 4
        #expect(one.isSaturated(at: 4))
        one.isAwaited = false
        #expect(!one.isSaturated(at: 4))
    }

    @Test func `intervals with high quality or pacing do not raise the limit`() {
        for change in [{ $0.hasHigh = true }, { $0.highRate = 1 }, { $0.isSteered = true }]
            as [(inout LinkInterval) -> Void]
        {
            var controller = ConcurrencyController()
            run(&controller, seconds: 120) {
                var one = interval(Double($0) * 10, transfers: $0)
                change(&one)
                return one
            }
            #expect(controller.limit == 4)
        }
    }

    @Test func `a fall lowers the limit within two seconds, and a recovery restores it at once`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 30) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        #expect(good >= 14)
        run(&controller, seconds: 2, from: 40) { interval(3, transfers: $0) }
        #expect(controller.limit <= 4)
        run(&controller, seconds: 20, from: 42) { interval(3, transfers: $0) }
        run(&controller, seconds: 1.5, from: 62) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit >= good)
    }

    @Test func `a rise is detected while a trial with fewer waits for transfers to end`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 2, maxLimit: 4) { interval(10, transfers: $0) }
        for step in 0..<Int64(120) where controller.limit == 4 {
            controller.add(
                interval(10, transfers: 4), maxLimit: 4, baseRTT: .milliseconds(50), now: at(2 + Double(step) / 4))
        }
        #expect(controller.limit < 4)
        for step in 1...Int64(4) {
            controller.add(
                interval(100, transfers: 4), maxLimit: 4, baseRTT: .milliseconds(50), now: at(40 + Double(step) / 4))
        }
        #expect(controller.limit == 4)
    }

    @Test func `a fall by loss raises the limit`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20) { interval(100, transfers: $0) }
        let before = controller.limit
        var highest = 0
        for step in 0..<Int64(120) {
            var one = interval(Double(controller.limit), transfers: controller.limit)
            one.loss = 0.05
            controller.add(one, maxLimit: 32, baseRTT: .milliseconds(50), isLossy: true, now: at(20 + Double(step) / 4))
            #expect(controller.limit >= before / 2)
            highest = max(highest, controller.limit)
        }
        #expect(highest == 32)
    }

    @Test func `fewer transfers are not tried under loss, and more are where they gain`() {
        func limits(loss: Double, _ rate: (Int) -> Double) -> [Int] {
            var controller = ConcurrencyController(initial: 8)
            return (0..<Int64(480)).map { step in
                var one = interval(rate(controller.limit), transfers: controller.limit)
                one.loss = loss
                controller.add(one, maxLimit: 32, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
                return controller.limit
            }
        }
        #expect(limits(loss: 0.05) { _ in 100 }.suffix(400).min() == 8)
        #expect(limits(loss: 0.05) { 100 + 4 * Double(min($0, 20)) }.last ?? 0 >= 20)
        #expect(limits(loss: 0.005) { _ in 100 }.suffix(400).min() ?? 8 < 8, "otherwise the test shows nothing")
    }

    @Test func `a step without gain is undone for a trial, and taken again if it had gained`() {
        var controller = ConcurrencyController()
        // Four transfers that begin together have no pauses between one and the next yet.
        func goodput(_ limit: Int, _ time: Double) -> Double { time < 2 ? 89 : limit < 8 ? 80 : 88 }
        var seen: [Int] = []
        for step in 0..<60 {
            let time = Double(step) / 4
            run(&controller, seconds: 0.25, from: time) { interval(goodput($0, time), transfers: $0) }
            if seen.last != controller.limit { seen.append(controller.limit) }
        }
        #expect(seen == [4, 8, 4, 8])
    }

    @Test func `a doubt of slow start is forgotten when the link changes before the trial`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 4) { interval(100, transfers: $0) }
        #expect(controller.limit == 8)
        // The link carries three times as much, and more with each transfer: eight were too few.
        var lowest: Int?
        for step in 0..<240 {
            let time = 4 + Double(step) / 4
            run(&controller, seconds: 0.25, from: time) { interval(300 + Double($0) * 20, transfers: $0) }
            if controller.limit >= 16 || lowest != nil { lowest = min(lowest ?? .max, controller.limit) }
        }
        #expect(lowest ?? 0 > 8)
    }

    @Test func `a trial with fewer waits until there are fewer`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 11) { interval(100, transfers: $0) }
        #expect(controller.phase == .back(base: 100) && controller.limit == 4)
        // Eight long transfers continue.
        run(&controller, seconds: 20, from: 11) { _ in interval(100, transfers: 8) }
        #expect(controller.phase == .back(base: 100))
        run(&controller, seconds: 4, from: 31) { interval(70, transfers: $0) }
        #expect(controller.limit == 8)
    }

    @Test func `a long queue keeps the limit from rising`() {
        var controller = ConcurrencyController()
        for step in 0..<Int64(200) {
            let one = interval(Double(controller.limit) * 10, transfers: controller.limit)
            controller.add(one, maxLimit: 32, baseRTT: .milliseconds(50), mayRise: false, now: at(Double(step) / 4))
            #expect(controller.limit <= 4)
        }
    }

    @Test func `another link starts from half of the good limit, and one that is back from all of it`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        // While the link is offline only a probe may run.
        run(&controller, seconds: 1, from: 20, maxLimit: 1) { interval(10, transfers: $0) }
        controller.restart()
        #expect(controller.limit == good / 2 && controller.phase == .slowStart(base: nil))
        run(&controller, seconds: 0.5, from: 21) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == good / 2)
        controller.resume()
        #expect(controller.limit == good && controller.phase == .slowStart(base: nil))
    }
}
