import Host
import Store
import Testing

@testable import Coordination

@Suite struct SweepPlanTests {
    @Test func `a shard with few keys is read by its keys each time`() {
        var plan = SweepPlan(shardCount: 2)
        #expect(plan.way(of: 0, hasUnrunnable: false, now: .zero) == .keys)
        plan.readKeys(ShardSweep.fewKeys, of: 0, newest: 9, now: .zero)
        #expect(plan.way(of: 0, hasUnrunnable: false, now: after(5)) == .keys)
    }

    @Test func `a shard with many keys is read by its changes for ten minutes`() {
        var plan = SweepPlan(shardCount: 2)
        plan.readKeys(ShardSweep.fewKeys + 1, of: 0, newest: 9, now: .zero)
        #expect(plan.way(of: 0, hasUnrunnable: false, now: after(5)) == .changes(after: 9))
        plan.readChanges(of: 0, through: 12)
        #expect(plan.way(of: 0, hasUnrunnable: false, now: after(599)) == .changes(after: 12))
        #expect(plan.way(of: 0, hasUnrunnable: true, now: after(60)) == .keys, "commands were passed over")
        #expect(plan.way(of: 0, hasUnrunnable: false, now: after(600)) == .keys)
    }

    @Test func `a shard whose commands were dropped from memory is read by its keys`() {
        var plan = SweepPlan(shardCount: 2)
        for shard in 0..<2 { plan.readKeys(ShardSweep.fewKeys + 1, of: shard, newest: 9, now: .zero) }
        plan.forget([1])
        #expect(plan.way(of: 0, hasUnrunnable: false, now: after(1)) == .changes(after: 9))
        #expect(plan.way(of: 1, hasUnrunnable: false, now: after(1)) == .keys)
    }
}
