import Host
import Testing

@testable import NetworkControl

/// Limits that a level or the policy caps, and gives back.
@Suite struct ConcurrencyCapTests {
    @Test func `a level caps the limit and gives it back`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        run(&controller, seconds: 5, from: 20, maxLimit: 4) { interval(Double($0) * 10, transfers: $0) }
        #expect(controller.limit <= 4)
        // Not before the link is saturated.
        run(&controller, seconds: 5, from: 25) { _ in interval(10, transfers: 1) }
        #expect(controller.limit <= 4)
        run(&controller, seconds: 0.5, from: 30) { interval(Double($0) * 10, transfers: $0) }
        #expect(controller.limit == good)
    }

    @Test func `a level gives the limit back beside high quality too`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        run(&controller, seconds: 5, from: 20, maxLimit: 4) { interval(Double($0) * 10, transfers: $0) }
        #expect(controller.limit <= 4)
        run(&controller, seconds: 0.5, from: 25) {
            var interval = interval(160, transfers: $0)
            interval.hasHigh = true
            interval.isSteered = true
            return interval
        }
        #expect(controller.limit == good)
    }

    @Test func `a link that was slow from its first second on begins slow start when its level lets it`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 30, maxLimit: 4) { _ in interval(2, transfers: 4) }
        #expect(controller.limit <= 4)
        run(&controller, seconds: 5, from: 30, maxLimit: 4) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == 4)
        run(&controller, seconds: 8, from: 35) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit >= 16)
    }

    @Test func `a link that recovers before its level does gets its limit back with the level`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 30) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        let good = controller.limit
        #expect(good >= 14)
        // The fall is seen first, and the level caps what is left.
        run(&controller, seconds: 2, from: 40) { interval(3, transfers: $0) }
        run(&controller, seconds: 20, from: 42, maxLimit: 4) { interval(3, transfers: $0) }
        run(&controller, seconds: 4, from: 62, maxLimit: 4) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == 4)
        run(&controller, seconds: 0.5, from: 66) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == good)
        // It stays there: more transfers are the controller's step, not a change of the link.
        run(&controller, seconds: 4, from: 66.5) { interval(Double(min($0, 16)) * 10, transfers: $0) }
        #expect(controller.limit == good)
    }

    @Test func `a rise at the maximum does not undo a later fall`() {
        var controller = ConcurrencyController()
        run(&controller, seconds: 20, maxLimit: 6) { interval(Double($0) * 10, transfers: $0) }
        #expect(controller.limit == 6)
        run(&controller, seconds: 5, from: 20, maxLimit: 6) { interval(Double($0) * 20, transfers: $0) }
        #expect(controller.limit == 6)
        controller.backOff()
        #expect(controller.limit == 4)
        run(&controller, seconds: 4, from: 25, maxLimit: 6) { interval(Double($0) * 20, transfers: $0) }
        #expect(controller.limit == 4)
    }
}
