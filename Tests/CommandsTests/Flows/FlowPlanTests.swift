import Commands
import Testing

@Suite struct FlowPlanTests {
    private static let noop = CommandDraft(type: "noop", payload: [], destination: .none, idempotent: true)

    private static func node(_ name: String, _ after: String...) -> FlowNode {
        FlowNode(name, noop, after: Dictionary(uniqueKeysWithValues: after.map { ($0, .success) }))
    }

    private static func refusal(_ nodes: FlowNode...) -> String? {
        #expect(throws: FlowError.self) { try FlowPlan(FlowDraft("f", nodes: nodes)) }?.description
    }

    @Test func `each node follows its parents`() throws {
        let plan = try FlowPlan(
            FlowDraft("f", nodes: [Self.node("d", "b", "c"), Self.node("b", "a"), Self.node("c", "a"), Self.node("a")]))
        #expect(plan.nodes.map(\.name) == ["a", "b", "c", "d"])
        #expect(plan.nodes.map { $0.parents.map(\.position) } == [[], [0], [0], [1, 2]])
    }

    @Test func `mistakes are named`() {
        #expect(
            Self.refusal(Self.node("a", "downlod"), Self.node("download"))
                == "node “a”: there is no node “downlod” to wait for; is it “download”?")
        #expect(Self.refusal(Self.node("a", "zzz")) == "node “a”: there is no node “zzz” to wait for")
        #expect(Self.refusal(Self.node("a"), Self.node("a")) == "node “a”: another node has this name")
        #expect(
            Self.refusal(Self.node("a", "c"), Self.node("b", "a"), Self.node("c", "b"))
                == "the nodes wait for each other: a → b → c → a")
        #expect(Self.refusal(Self.node("a", "a")) == "the nodes wait for each other: a → a")
        #expect(Self.refusal(Self.node("a b"))?.contains("for its name") == true)
        #expect(Self.refusal(Self.node(""))?.contains("for its name") == true)
        var keyed = Self.node("a")
        keyed.draft.uniqueKey = "k"
        #expect(Self.refusal(keyed)?.contains("no key of its own") == true)
    }

    @Test func `a long cycle is shortened`() {
        let nodes = (0..<1000).map { Self.node("n\($0)", "n\(($0 + 1) % 1000)") }
        let error = #expect(throws: FlowError.self) { try FlowPlan(FlowDraft("f", nodes: nodes)) }
        #expect((error?.problem.utf8.count ?? 1000) < 200 && error?.problem.contains("…") == true)
    }

    @Test func `more nodes than a flow may have are refused`() {
        let nodes = (0...FlowDraft.maxNodes).map { Self.node("n\($0)") }
        let error = #expect(throws: FlowError.self) { try FlowPlan(FlowDraft("f", nodes: nodes)) }
        #expect(error?.problem.contains("100001 nodes") == true)
    }
}
