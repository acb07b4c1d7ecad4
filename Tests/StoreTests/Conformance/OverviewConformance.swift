import Commands
import Store
import Testing

/// The overview of flows, ordering keys and schedules.
@Suite(.postgreSQLServer) struct OverviewConformance {
    @Test(arguments: StoreKind.allCases) func `a store without relations has an empty overview`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        try subject.submit()
        #expect(try subject.store.relationOverview(shard: 0).isEmpty)
        #expect(try subject.store.openFlows(shard: 0, limit: 10).isEmpty)
    }

    @Test(arguments: StoreKind.current) func `open flows come newest first, until they end`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b < a") { $0.name = "first" }
        let first = rig.flow
        let a = rig["a"]
        for number in 0..<7 { try rig.submit("c\(number)") { $0.name = "flow \(number)" } }
        var overview = try rig.store.relationOverview(shard: 0).flows
        #expect(overview.count == 8 && overview.isComplete)
        #expect(overview.newest.map(\.name) == (2..<7).reversed().map { "flow \($0)" })
        #expect(try rig.store.openFlows(shard: 0, limit: 100).last?.command.id == first)
        for number in 0..<7 { try rig.succeed("c\(number)") }
        #expect(rig["a"] == a)
        try rig.succeed("a")
        overview = try rig.store.relationOverview(shard: 0).flows
        #expect(overview.count == 1)
        #expect(overview.newest.map { [$0.nodes, $0.open, $0.failed] } == [[2, 1, 0]])
        try rig.fail("b")
        #expect(try rig.store.relationOverview(shard: 0).isEmpty)
        #expect(try rig.store.flow(first)?.failed == 1)
    }

    @Test(arguments: StoreKind.current) func `the overview counts the commands that wait for keys`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        for (key, count) in [("a", 1), ("b", 4), ("c", 3)] {
            try subject.submit([CommandDraft](repeating: .noop.with { $0.orderingKey = key }, count: count))
        }
        let keys = try subject.store.relationOverview(shard: 0).keys
        #expect(keys.keys == 2 && keys.waiting == 5 && keys.isComplete)
        #expect(keys.longest == OrderingKeyOverview.Queue(key: "b", waiting: 3))
    }

    @Test func `the overviews of shards add up`() {
        var all = RelationOverview()
        for shard in 0..<3 {
            var overview = RelationOverview()
            overview.flows.count = shard
            overview.flows.isComplete = shard != 1
            overview.keys.add(OrderingKeyOverview.Queue(key: "k\(shard)", waiting: 3 - shard))
            overview.schedules.add(
                name: "due \(shard)", isPaused: false, next: Timestamp(milliseconds: Int64(10 - shard)), reason: nil)
            overview.schedules.add(name: "held \(9 - shard)", isPaused: false, next: nil, reason: "no zone")
            overview.schedules.add(name: "paused \(shard)", isPaused: true, next: nil, reason: nil)
            all.add(overview)
        }
        #expect(all.flows.count == 3 && !all.flows.isComplete)
        #expect(all.keys.keys == 3 && all.keys.waiting == 6 && all.keys.longest?.key == "k0")
        #expect(all.schedules.count == 9 && all.schedules.paused == 3)
        #expect(all.schedules.next?.name == "due 2")
        #expect(all.schedules.held.map(\.name) == ["held 7", "held 8", "held 9"])
        let json = JSONValue.object(all.members)
        #expect(json["flows"]?["count"]?.integer == 3 && json["orderingKeys"]?["longest"]?["waiting"]?.integer == 3)
        #expect(json["schedules"]?["next"]?["schedule"]?.string == "due 2")
        #expect(JSONValue.object(RelationOverview().members)["flows"] == .null)
    }
}
