import Host
import Testing

@testable import NetworkControl

/// Changes of what a link carries, and their causes.
@Suite struct LinkChangeTests {
    /// Files of `bytes` each, of which each slot completes `perSecond` a second.
    private func files(_ limit: Int, bytes: Double, perSecond: Double, _ step: Int64, flowing: Int = 0) -> LinkInterval
    {
        let ended = { (step: Int64) in Int(Double(step) / 4 * perSecond * Double(limit)) }
        var interval = interval(bytes * perSecond * Double(limit), transfers: limit, flowing: flowing)
        interval.completed = ended(step) - ended(step - 1)
        return interval
    }

    /// Twenty files of 1 MB at once that fill a link of 100 Mbit/s, for half a minute.
    private func full() -> ConcurrencyController {
        var controller = ConcurrencyController(initial: 20)
        for step in 1...Int64(120) {
            let limit = controller.limit
            controller.add(
                files(limit, bytes: 1_000_000, perSecond: 12.5 / Double(limit), step), maxLimit: 64,
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
            let interval = files(
                controller.limit, bytes: bytes, perSecond: rate / bytes / Double(controller.limit), step)
            controller.add(interval, maxLimit: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            lowest = min(lowest, controller.limit)
        }
        #expect(lowest == before)
        guard
            case .demand(let usual, let measured, let completionRate, let usualCompletionRate) = controller.lastChange?
                .change
        else {
            Issue.record("\(String(describing: controller.lastChange))")
            return
        }
        #expect(measured < 0.5 * usual && completionRate > 3 * usualCompletionRate)
        #expect(controller.lastChange?.at ?? .distantFuture <= at(32))
    }

    @Test func `a link that gets slower completes fewer transfers, and the limit falls`() {
        var controller = full()
        let before = controller.limit
        for step in Int64(121)...125 {
            let interval = files(before, bytes: 1_000_000, perSecond: 0.25 / Double(before), step, flowing: before)
            controller.add(interval, maxLimit: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
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
            var interval = files(before, bytes: 10, perSecond: 12.5 / Double(before), step, flowing: before)
            if step > 126 { interval.completed = 0 }
            interval.rate = 30_000
            controller.add(interval, maxLimit: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            if controller.limit < before { fell = step }
        }
        #expect((fell ?? .max) <= 121 + 16)
    }

    @Test func `files that become large are more demand, and slow start begins at the present limit`() {
        var controller = ConcurrencyController(initial: 8)
        for step in 1...Int64(120) {
            controller.add(
                files(controller.limit, bytes: 1000, perSecond: 16 / Double(controller.limit), step), maxLimit: 64,
                baseRTT: .milliseconds(50), now: at(Double(step) / 4))
        }
        let before = controller.limit
        for step in Int64(121)...128 {
            controller.add(
                files(before, bytes: 3_000_000, perSecond: 4 / Double(before), step, flowing: before), maxLimit: 64,
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
            var interval = files(before, bytes: 1_000_000, perSecond: 1 / Double(before), step)
            interval.isAtMaxRate = true
            controller.add(interval, maxLimit: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            #expect(controller.limit == before)
        }
        guard case .steering = controller.lastChange?.change else {
            Issue.record("\(String(describing: controller.lastChange))")
            return
        }
    }

    @Test func `a receiver that pauses does not lower the limit`() {
        var controller = full()
        let before = controller.limit
        for step in Int64(121)...132 {
            var interval = interval(0, transfers: before, flowing: 0)
            interval.heldByReceiver = before
            controller.add(interval, maxLimit: 64, baseRTT: .milliseconds(50), now: at(Double(step) / 4))
            #expect(controller.limit == before)
        }
        guard case .receiver(before, before) = controller.lastChange?.change else {
            Issue.record("\(String(describing: controller.lastChange))")
            return
        }
    }
}
