import Host
import Testing

@testable import NetworkControl

/// Scenario tables in the manner of Vector's: a curve of goodput over the limit, and ranges for the limits that come of it.
@Suite struct ConcurrencyControllerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        /// Goodput at a limit, after so many seconds.
        var goodput: @Sendable (Int, Double) -> Double
        var seconds = 120.0
        var highest = 32
        /// Of the last two thirds.
        var mean: ClosedRange<Double>
        var least: ClosedRange<Int>
        var most: ClosedRange<Int>

        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(
            name: "one transfer fills the link", goodput: { _, _ in 100 }, mean: 1...5, least: 1...4, most: 1...8),
        Row(
            name: "ten fill it", goodput: { limit, _ in Double(min(limit, 10)) * 10 }, mean: 9...14, least: 7...10,
            most: 10...17),
        Row(
            name: "more is always better", goodput: { limit, _ in Double(limit) * 10 }, mean: 28...32, least: 16...32,
            most: 32...32),
        Row(
            name: "a shallow knee at eight",
            goodput: { limit, _ in limit <= 8 ? Double(limit) * 12 : 96 + Double(limit - 8) * 0.1 }, mean: 7...12,
            least: 6...8, most: 8...12),
        Row(
            name: "collapse above twelve",
            goodput: { limit, _ in limit <= 12 ? Double(limit) * 8 : max(96 - Double(limit - 12) * 10, 10) },
            mean: 9...13, least: 6...12, most: 12...16),
        Row(
            name: "the policy allows six", goodput: { limit, _ in Double(limit) * 10 }, highest: 6, mean: 5...6,
            least: 4...6, most: 6...6),
        Row(
            name: "100 to 2 to 100 with ten needed",
            goodput: { limit, time in (40..<80).contains(time) ? 2 : Double(min(limit, 10)) * 10 }, mean: 3...12,
            least: 1...4, most: 10...24),
    ]

    @Test func `a slow start that was held for a moment goes on where it was`() {
        var controller = ConcurrencyController()
        for step in 0..<24 {
            // Three are allowed for a second, as after a refusal.
            let one = tick(Double(controller.limit) * 10, transfers: controller.limit)
            controller.add(
                one, highest: (1..<5).contains(step) ? 3 : 32, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
        }
        #expect(controller.limit >= 8, "\(controller.limit) after 6 s")
    }

    @Test(arguments: rows) func `finds the limit`(row: Row) {
        var controller = ConcurrencyController()
        var limits: [Int] = []
        for step in 0..<Int(row.seconds * 4) {
            let time = Double(step) / 4
            let one = tick(row.goodput(controller.limit, time), transfers: controller.limit)
            controller.add(one, highest: row.highest, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            if time > row.seconds / 3 { limits.append(controller.limit) }
        }
        let mean = Double(limits.reduce(0, +)) / Double(limits.count)
        #expect(row.mean.contains(mean), "mean \(mean)")
        #expect(row.least.contains(limits.min() ?? 0), "least \(limits.min() ?? 0)")
        #expect(row.most.contains(limits.max() ?? 0), "most \(limits.max() ?? 0)")
    }

    /// Commands without bytes that take so many seconds each and began together.
    private func completed(_ limit: Int, duration: Double, at time: Double) -> LinkInterval {
        var tick = tick(0, transfers: limit, flowing: 0)
        tick.completed = (Int(time / duration) - Int((time - 0.25) / duration)) * limit
        return tick
    }

    @Test(arguments: [0.4, 2, 10])
    func `commands without bytes are given more slots while that completes more of them`(duration: Double) {
        var controller = ConcurrencyController()
        for step in 1..<Int64(600 * max(duration, 1)) {
            let tick = completed(controller.limit, duration: duration, at: Double(step) / 4)
            controller.add(tick, highest: 32, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
        }
        #expect(controller.limit >= 24)
    }

    @Test func `a server that completes no more commands without bytes gets no more of them`() {
        var controller = ConcurrencyController()
        var (limits, done): ([Int], Double) = ([], 0)
        for step in 1..<Int64(480) {
            var tick = tick(0, transfers: controller.limit, flowing: 0)
            done += Double(min(controller.limit, 10)) / 0.4 / 4
            tick.completed = Int(done)
            done -= Double(tick.completed)
            controller.add(tick, highest: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            if step > 160 { limits.append(controller.limit) }
        }
        #expect((7...10).contains(limits.min() ?? 0) && (10...17).contains(limits.max() ?? 0), "\(limits)")
    }

    @Test func `one large file among commands without bytes does not lower the limit`() {
        var controller = ConcurrencyController()
        var limits: [Int] = []
        for step in 1..<Int64(960) {
            var tick = completed(controller.limit, duration: 0.4, at: Double(step) / 4)
            if step % 40 < 4 { tick.rate = 500_000 }
            controller.add(tick, highest: 32, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            if step > 160 { limits.append(controller.limit) }
        }
        #expect(limits.min() ?? 0 >= 16)
    }

    // MARK: Changes and their causes

    /// Files that end so often a second in each slot, and carry so many bytes each.
    private func files(_ limit: Int, bytes: Double, perSecond: Double, _ step: Int64, flowing: Int = 0) -> LinkInterval
    {
        let ended = { (step: Int64) in Int(Double(step) / 4 * perSecond * Double(limit)) }
        var tick = tick(bytes * perSecond * Double(limit), transfers: limit, flowing: flowing)
        tick.completed = ended(step) - ended(step - 1)
        return tick
    }

    /// Twenty files of 1 MB at once that fill a link of 100 Mbit/s, for half a minute.
    private func full() -> ConcurrencyController {
        var controller = ConcurrencyController(initial: 20)
        for step in 1...Int64(120) {
            let limit = controller.limit
            controller.add(
                files(limit, bytes: 1_000_000, perSecond: 12.5 / Double(limit), step), highest: 64,
                baseRTT: .milliseconds(50),
                now: at(Double(step) / 4))
        }
        return controller
    }

    @Test(arguments: [1000.0, 100_000])
    func `files that become small are less demand, and the limit stays`(bytes: Double) {
        var controller = full()
        let before = controller.limit
        #expect(before >= 15)
        var lowest = before
        for step in Int64(121)...240 {
            let rate = min(12_500_000, bytes * 2.2 * Double(controller.limit))
            let tick = files(controller.limit, bytes: bytes, perSecond: rate / bytes / Double(controller.limit), step)
            controller.add(tick, highest: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            lowest = min(lowest, controller.limit)
        }
        #expect(lowest == before)
        guard case .demand(let usual, let measured, let turns, let usualTurns) = controller.lastChange?.change else {
            Issue.record("\(String(describing: controller.lastChange))")
            return
        }
        #expect(measured < 0.5 * usual && turns > 3 * usualTurns)
        #expect(controller.lastChange?.at ?? .distantFuture <= at(32))
    }

    @Test func `a link that gets slower completes less as well, and the limit falls`() {
        var controller = full()
        let before = controller.limit
        for step in Int64(121)...125 {
            let tick = files(before, bytes: 1_000_000, perSecond: 0.25 / Double(before), step, flowing: before)
            controller.add(tick, highest: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
        }
        #expect(controller.limit <= before / 2)
        guard case .capacity = controller.lastChange?.change else {
            Issue.record("\(String(describing: controller.lastChange))")
            return
        }
    }

    @Test func `answers that were under way when a link got slower are not less demand`() {
        var controller = full()
        let before = controller.limit
        var fell: Int64?
        for step in Int64(121)...160 where fell == nil {
            // As many as usual end for a second and a half, and then none.
            var tick = files(before, bytes: 10, perSecond: 12.5 / Double(before), step, flowing: before)
            if step > 126 { tick.completed = 0 }
            tick.rate = 30_000
            controller.add(tick, highest: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            if controller.limit < before { fell = step }
        }
        #expect((fell ?? .max) <= 121 + 16)
    }

    @Test func `files that become large are more demand, and the limit is tried from where it is`() {
        var controller = ConcurrencyController(initial: 8)
        for step in 1...Int64(120) {
            controller.add(
                files(controller.limit, bytes: 1000, perSecond: 16 / Double(controller.limit), step), highest: 64,
                baseRTT: .milliseconds(50), now: at(Double(step) / 4))
        }
        let before = controller.limit
        for step in Int64(121)...128 {
            controller.add(
                files(before, bytes: 3_000_000, perSecond: 4 / Double(before), step, flowing: before), highest: 64,
                baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            #expect(controller.limit == before)
        }
        guard case .demand = controller.lastChange?.change else {
            Issue.record("\(String(describing: controller.lastChange))")
            return
        }
    }

    @Test func `a rate that a person lowers is steering, and the limit stays`() {
        var controller = full()
        let before = controller.limit
        for step in Int64(121)...128 {
            var tick = files(before, bytes: 1_000_000, perSecond: 1 / Double(before), step)
            tick.isAtMaxRate = true
            controller.add(tick, highest: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            #expect(controller.limit == before)
        }
        guard case .steering = controller.lastChange?.change else {
            Issue.record("\(String(describing: controller.lastChange))")
            return
        }
    }

    @Test func `a receiver that pauses is no slower link`() {
        var controller = full()
        let before = controller.limit
        for step in Int64(121)...132 {
            var tick = tick(0, transfers: before, flowing: 0)
            tick.heldByReceiver = before
            controller.add(tick, highest: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            #expect(controller.limit == before)
        }
        guard case .receiver(before, before) = controller.lastChange?.change else {
            Issue.record("\(String(describing: controller.lastChange))")
            return
        }
    }

    private func run(
        _ controller: inout ConcurrencyController, seconds: Double, from: Double = 0, highest: Int = 32,
        _ one: (Int) -> LinkInterval
    ) {
        for step in 0..<Int64(seconds * 4) {
            let now = at(from + Double(step) / 4)
            controller.add(one(controller.limit), highest: highest, baseRTT: .milliseconds(50), now: now)
        }
    }

    @Test func `doubles while that gains a quarter`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 7) { tick(Double($0) * 10, transfers: $0) }
        #expect(controller.limit == 32)
    }

    @Test func `never rises while fewer run than it allows`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 120) { tick(100, transfers: $0 - 1) }
        #expect(controller.limit == 4)
    }

    @Test func `a free place between two short transfers is saturation all the same`() {
        var one = tick(100, transfers: 15)
        one.maxInFlight = 16
        #expect(!one.isSaturated(at: 16))
        one.isAwaited = true
        #expect(one.isSaturated(at: 16))
        one.fewest = 13
        #expect(!one.isSaturated(at: 16))
    }

    @Test func `places that had another transfer each within the tick were not free`() {
        var one = tick(100, transfers: 1)
        one.completed = 3
        one.isAwaited = true
        #expect(!one.isSaturated(at: 4))
        one.completed = 4
        #expect(one.isSaturated(at: 4))
        one.isAwaited = false
        #expect(!one.isSaturated(at: 4))
    }

    @Test func `ticks of high quality and of pacing are not credited`() {
        for change in [{ $0.hasHigh = true }, { $0.highRate = 1 }, { $0.isSteered = true }]
            as [(inout LinkInterval) -> Void]
        {
            var controller = ConcurrencyController()
            run(&controller, seconds: 120) {
                var one = tick(Double($0) * 10, transfers: $0)
                change(&one)
                return one
            }
            #expect(controller.limit == 4)
        }
    }

    @Test func `a fall lowers the limit within two seconds, and recovery comes back to it at once`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 30) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        #expect(good >= 14)
        run(&controller, seconds: 2, from: 40) { tick(3, transfers: $0) }
        #expect(controller.limit <= 4)
        run(&controller, seconds: 20, from: 42) { tick(3, transfers: $0) }
        run(&controller, seconds: 1.5, from: 62) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit >= good)
    }

    @Test func `a rise is seen while those that a trial with fewer waits for still run`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 2, highest: 4) { tick(10, transfers: $0) }
        for step in 0..<Int64(120) where controller.limit == 4 {
            controller.add(
                tick(10, transfers: 4), highest: 4, baseRTT: .milliseconds(50), now: at(2 + Double(step) / 4))
        }
        #expect(controller.limit < 4)
        for step in 1...Int64(4) {
            controller.add(
                tick(100, transfers: 4), highest: 4, baseRTT: .milliseconds(50), now: at(40 + Double(step) / 4))
        }
        #expect(controller.limit == 4)
    }

    @Test func `a fall by loss is answered with more, not fewer`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20) { tick(100, transfers: $0) }
        let before = controller.limit
        var most = 0
        for step in 0..<Int64(120) {
            var one = tick(Double(controller.limit), transfers: controller.limit)
            one.loss = 0.05
            controller.add(one, highest: 32, baseRTT: .milliseconds(50), isLossy: true, now: at(20 + Double(step) / 4))
            #expect(controller.limit >= before / 2)
            most = max(most, controller.limit)
        }
        #expect(most == 32)
    }

    @Test func `under loss fewer are not tried, and more where they gain`() {
        func limits(loss: Double, _ rate: (Int) -> Double) -> [Int] {
            var controller = ConcurrencyController(initial: 8)
            return (0..<Int64(480)).map { step in
                var one = tick(rate(controller.limit), transfers: controller.limit)
                one.loss = loss
                controller.add(one, highest: 32, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
                return controller.limit
            }
        }
        #expect(limits(loss: 0.05) { _ in 100 }.suffix(400).min() == 8)
        #expect(limits(loss: 0.05) { 100 + 4 * Double(min($0, 20)) }.last ?? 0 >= 20)
        #expect(limits(loss: 0.005) { _ in 100 }.suffix(400).min() ?? 8 < 8, "or this shows nothing")
    }

    @Test func `a level caps it and gives it back`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        run(&controller, seconds: 5, from: 20, highest: 4) { tick(Double($0) * 10, transfers: $0) }
        #expect(controller.limit <= 4)
        // Not before the link is saturated.
        run(&controller, seconds: 5, from: 25) { _ in tick(10, transfers: 1) }
        #expect(controller.limit <= 4)
        run(&controller, seconds: 0.5, from: 30) { tick(Double($0) * 10, transfers: $0) }
        #expect(controller.limit == good)
    }

    @Test func `a level gives its limit back beside high quality too`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        run(&controller, seconds: 5, from: 20, highest: 4) { tick(Double($0) * 10, transfers: $0) }
        #expect(controller.limit <= 4)
        run(&controller, seconds: 0.5, from: 25) {
            var tick = tick(160, transfers: $0)
            tick.hasHigh = true
            tick.isSteered = true
            return tick
        }
        #expect(controller.limit == good)
    }

    @Test func `a link that was slow from its first second on begins slow start when its level lets it`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 30, highest: 4) { _ in tick(2, transfers: 4) }
        #expect(controller.limit <= 4)
        run(&controller, seconds: 5, from: 30, highest: 4) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == 4)
        run(&controller, seconds: 8, from: 35) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit >= 16)
    }

    @Test func `a link that recovers before its level does gets its limit back with the level`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 30) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        #expect(good >= 14)
        // The fall is seen first, and the level caps what is left.
        run(&controller, seconds: 2, from: 40) { tick(3, transfers: $0) }
        run(&controller, seconds: 20, from: 42, highest: 4) { tick(3, transfers: $0) }
        run(&controller, seconds: 4, from: 62, highest: 4) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == 4)
        run(&controller, seconds: 0.5, from: 66) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == good)
        // And stays there: that more come now is its own doing, and no change of the link.
        run(&controller, seconds: 4, from: 66.5) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == good)
    }

    @Test func `a rise at the highest is no cap that undoes what comes after`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20, highest: 6) { tick(Double($0) * 10, transfers: $0) }
        #expect(controller.limit == 6)
        run(&controller, seconds: 5, from: 20, highest: 6) { tick(Double($0) * 20, transfers: $0) }
        #expect(controller.limit == 6)
        controller.backOff()
        #expect(controller.limit == 4)
        run(&controller, seconds: 4, from: 25, highest: 6) { tick(Double($0) * 20, transfers: $0) }
        #expect(controller.limit == 4)
    }

    @Test func `what slow start takes for no gain is tried back, and given again where it was one`() {
        var controller = ConcurrencyController()
        // Four that begin together have no pauses between one and the next yet.
        func goodput(_ limit: Int, _ time: Double) -> Double { time < 2 ? 89 : limit < 8 ? 80 : 88 }
        var seen: [Int] = []
        for step in 0..<60 {
            let time = Double(step) / 4
            run(&controller, seconds: 0.25, from: time) { tick(goodput($0, time), transfers: $0) }
            if seen.last != controller.limit { seen.append(controller.limit) }
        }
        #expect(seen == [4, 8, 4, 8])
    }

    @Test func `what slow start left in doubt is forgotten where the link changes before it is tried`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 4) { tick(100, transfers: $0) }
        #expect(controller.limit == 8)
        // Three times as much, and more with each transfer: eight were too few.
        var least: Int?
        for step in 0..<240 {
            let time = 4 + Double(step) / 4
            run(&controller, seconds: 0.25, from: time) { tick(300 + Double($0) * 20, transfers: $0) }
            if controller.limit >= 16 || least != nil { least = min(least ?? .max, controller.limit) }
        }
        #expect(least ?? 0 > 8)
    }

    @Test func `a trial with fewer waits until there are fewer`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 11) { tick(100, transfers: $0) }
        #expect(controller.phase == .back(base: 100) && controller.limit == 4)
        // Eight long ones go on.
        run(&controller, seconds: 20, from: 11) { _ in tick(100, transfers: 8) }
        #expect(controller.phase == .back(base: 100))
        run(&controller, seconds: 4, from: 31) { tick(70, transfers: $0) }
        #expect(controller.limit == 8)
    }

    @Test func `a long queue keeps it from rising`() {
        var controller = ConcurrencyController()
        for step in 0..<Int64(200) {
            let one = tick(Double(controller.limit) * 10, transfers: controller.limit)
            controller.add(one, highest: 32, baseRTT: .milliseconds(50), mayRise: false, now: at(Double(step) / 4))
            #expect(controller.limit <= 4)
        }
    }

    @Test func `another link starts from half of what was good, and one that is back from all of it`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        // While it is away nothing may run but a probe.
        run(&controller, seconds: 1, from: 20, highest: 1) { tick(10, transfers: $0) }
        controller.restart()
        #expect(controller.limit == good / 2 && controller.phase == .slowStart(base: nil))
        run(&controller, seconds: 0.5, from: 21) { tick(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == good / 2)
        controller.resume()
        #expect(controller.limit == good && controller.phase == .slowStart(base: nil))
    }
}
