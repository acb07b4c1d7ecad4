import Commands
import Console
import Testing

@Suite struct FlowRowsTests {
    private static let start = Timestamp(milliseconds: 1_772_368_496_000)
    private static let now = start + .milliseconds(4100)

    private static func command(_ position: Int64, _ status: CommandStatus, at milliseconds: Int = 0) -> Command {
        var command = Command(
            id: CommandID(high: 0x0199_8B5E_7C1A_7D2E, low: 0x8F00_3B6A_1C2D_0000 + UInt64(position)),
            type: position == 1 ? "flow" : "noop", destination: .none, createdAt: start)
        command.turn = position
        command.status = status
        command.updatedAt = start + .milliseconds(milliseconds)
        return command
    }

    private static func node(
        _ position: Int64, _ name: String?, _ status: CommandStatus, at milliseconds: Int = 0,
        after parents: [(Int64, DependencyCondition)] = [], reason: String? = nil
    ) -> FlowNodeState {
        var command = command(position, status, at: milliseconds)
        command.reason = reason
        return FlowNodeState(
            position: position, name: name, command: command,
            parents: parents.map { .init(position: $0.0, condition: $0.1, isSatisfied: false) }, mayFail: false,
            isUnneeded: false)
    }

    private static func flow(_ name: String = "quotes", nodes: Int, open: Int, failed: Int = 0) -> FlowState {
        FlowState(command: command(1, .blocked), name: name, nodes: nodes, open: open, failed: failed)
    }

    @Test func `each node has a line, and its parents are behind an arrow`() {
        var sync = Self.node(3, "sync", .error, after: [(2, .success)], reason: "HTTP 500")
        sync.command.retries = 2
        sync.command.notBefore = Self.now + .seconds(12)
        let nodes = [
            Self.node(2, "download", .success, at: 800), sync,
            Self.node(4, "notify", .blocked, after: [(2, .success), (3, .end)]),
            Self.node(5, nil, .blocked, after: [(1, .failure)]),
        ]
        let lines = FlowRows.lines(Self.flow(nodes: 3, open: 2), nodes, columns: nil, now: Self.now)
        #expect(
            lines == [
                "quotes 01998b5e-7c1a-7d2e-8f00-3b6a1c2d0001  blocked · 1 of 3 ended · 4.1s",
                "  download      success  +0.8s",
                "  sync          error           retry 2 of 5 in 12s: HTTP 500  ← download",
                "  notify        blocked         waits for 2 of 2  ← download, sync (end)",
                "  then failure  blocked",
            ], "\(lines.joined(separator: "\n"))")
    }

    @Test func `many nodes that differ in their numbers have one line`() {
        var nodes = [Self.node(2, "list", .success, at: 10)]
        for number in 0..<100 {
            let status: CommandStatus = number < 90 ? .success : number < 97 ? .new : .tooManyTimes
            nodes.append(Self.node(Int64(3 + number), "page-\(number)", status, after: [(2, .success)]))
        }
        let pages = nodes.dropFirst().map { ($0.position, DependencyCondition.success) }
        nodes.append(Self.node(200, "join", .blocked, after: pages))
        let flow = Self.flow(nodes: 102, open: 8, failed: 3)
        let lines = FlowRows.lines(flow, nodes, columns: nil, now: Self.now)
        #expect(lines.count == 4 && lines[0].contains("94 of 102 ended · 3 failed"))
        #expect(lines[2] == "  page-*  success         90 of 100, 7 new, 3 gave up  ← list", "\(lines[2])")
        #expect(lines[3] == "  join    blocked         waits for 100 of 100  ← page-*", "\(lines[3])")
        #expect(FlowRows.lines(flow, nodes, columns: nil, showsAll: true, now: Self.now).count == 103)
    }

    @Test func `the lines fit every width, and hostile names have no effect`() {
        let nodes = [
            Self.node(
                2, "download", .tooManyTimes, at: 100,
                reason: "\u{1B}[31mred\nline " + String(repeating: "x", count: 300)),
            Self.node(3, "0123456789", .new), Self.node(4, "7", .new),
        ]
        for columns in 1...120 {
            let lines = FlowRows.lines(
                Self.flow("a\u{7}b", nodes: 3, open: 2), nodes, columns: columns, now: Self.now)
            #expect(lines.allSatisfy { TerminalText.width($0) <= columns && !$0.contains("\u{1B}") })
        }
    }

    @Test func `a narrow terminal shows the state, and the end of the id`() {
        let head = FlowRows.lines(Self.flow(nodes: 3, open: 2), [], columns: 60, now: Self.now)[0]
        #expect(head == "quotes 3b6a1c2d0001  blocked · 1 of 3 ended · 4.1s")
    }

    @Test func `the graph names nodes, edges and their conditions, and escapes names`() {
        let nodes = [
            Self.node(2, "a", .success), Self.node(3, "b", .blocked, after: [(2, .failure)]),
            Self.node(4, nil, .blocked, after: [(1, .success)]),
        ]
        let lines = FlowGraph.lines(Self.flow("say \"hi\" \\ now", nodes: 2, open: 1), nodes)
        #expect(lines.first == #"digraph "say \"hi\" \\ now" {"# && lines.last == "}")
        #expect(lines.contains(#"  n2 -> n3 [label="failure", style=dashed];"#))
        #expect(lines.contains("  n1 -> n4;"))
        #expect(lines.contains { $0.hasPrefix(#"  n2 [label="a\nnoop\nsuccess""#) })
    }
}
