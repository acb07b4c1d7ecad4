import Commands
import Store
import Testing

@Suite(.postgreSQLServer) struct FlowReadingConformance {
    @Test(arguments: StoreKind.current)
    func `a flow is read with its nodes, their parents and its callbacks`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b? < a", "handler < a:failure", callbacks: [.end])
        try rig.succeed("a")
        let flow = try #require(try rig.store.flow(rig.flow))
        #expect(flow.name == "test" && flow.nodes == 3 && flow.open == 1 && flow.failed == 0)
        #expect(flow.command.status == .blocked)
        let nodes = try rig.store.flowNodes(rig.flow, after: 0, limit: 10)
        #expect(nodes.map(\.name) == ["a", "b", "handler", nil])
        #expect(nodes.map(\.command.status) == [.success, .new, .cancelled, .blocked])
        #expect(nodes.map(\.mayFail) == [false, true, false, false])
        #expect(nodes.map(\.isUnneeded) == [false, false, true, false])
        #expect(nodes[2].parents == [.init(position: nodes[0].position, condition: .failure, isSatisfied: false)])
        #expect(nodes[3].parents == [.init(position: flow.command.turn, condition: .end, isSatisfied: false)])
        // In pages.
        let first = try rig.store.flowNodes(rig.flow, after: 0, limit: 2)
        let rest = try rig.store.flowNodes(rig.flow, after: try #require(first.last).position, limit: 1000)
        #expect(first + rest == nodes)
    }

    @Test(arguments: StoreKind.current)
    func `a command that is not a flow has no nodes`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        let id = try rig.subject.submit(.noop)
        #expect(try rig.store.flow(id) == nil && rig.store.dependencies(of: id, limit: 9) == nil)
        #expect(try rig.store.flowNodes(id, after: 0, limit: 9).isEmpty)
        #expect(try rig.store.parentResults(of: id, after: 0, limit: 9).isEmpty)
        let unknown = CommandID(high: 1, low: 1)
        #expect(try rig.store.flow(unknown) == nil && rig.store.dependencies(of: unknown, limit: 9) == nil)
    }

    @Test(arguments: StoreKind.current)
    func `a command tells the parents that it still waits for`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b", "c", "d < a, b:end, c", callbacks: [.success])
        try rig.succeed("b")
        let waits = try #require(try rig.store.dependencies(of: rig["d"], limit: 1))
        #expect(waits.flow == rig.flow && waits.name == "d" && waits.count == 3 && waits.open == 2)
        #expect(waits.parents.map(\.name) == ["a"] && waits.parents.map(\.condition) == [.success])
        let root = try #require(try rig.store.dependencies(of: rig["a"], limit: 9))
        #expect(root.count == 0 && root.parents.isEmpty && root.flow == rig.flow)
        let callback = try #require(try rig.store.dependencies(of: rig["then success"], limit: 9))
        #expect(callback.name == nil && callback.parents.map(\.command.id) == [rig.flow])
    }

    @Test(arguments: StoreKind.current)
    func `the results of parents are read in their order, in pages`(_ kind: StoreKind) throws {
        let rig = try FlowRig(kind)
        try rig.submit("a", "b?", "c", "d < c, b, a")
        for (name, result) in [("a", #"{"n":1}"#), ("c", "[2]")] {
            try rig.claim(name)
            try rig.end(name, result: .success(result: Array(result.utf8)))
        }
        try rig.fail("b")
        let results = try rig.store.parentResults(of: rig["d"], after: 0, limit: 10)
        #expect(results.map(\.name) == ["a", "b", "c"])
        #expect(results.map(\.status) == [.success, .tooManyTimes, .success])
        #expect(results.map(\.result) == [Array(#"{"n":1}"#.utf8), nil, Array("[2]".utf8)])
        let page = try rig.store.parentResults(of: rig["d"], after: results[0].position, limit: 1)
        #expect(page == [results[1]])
    }
}
