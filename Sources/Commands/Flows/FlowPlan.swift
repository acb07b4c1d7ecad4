/// A checked flow, with its nodes in an order in which each follows its parents. Pure.
package struct FlowPlan: Sendable, Equatable {
    package struct Node: Sendable, Equatable {
        package var name: String
        package var draft: CommandDraft
        /// Positions in ``FlowPlan/nodes``, each lower than its own, ascending.
        package var parents: [(position: Int, condition: DependencyCondition)]
        package var mayFail: Bool

        package static func == (left: Node, right: Node) -> Bool {
            left.name == right.name && left.draft == right.draft && left.mayFail == right.mayFail
                && left.parents.elementsEqual(right.parents) { $0 == $1 }
        }
    }

    package let flow: FlowDraft
    package let nodes: [Node]

    /// - Throws: ``FlowError`` for a name that is malformed or given twice, an unknown parent, a cycle, a key of a node,
    ///   and a flow that is too large.
    package init(_ flow: FlowDraft) throws(FlowError) {
        guard flow.nodes.count <= FlowDraft.maxNodes else {
            throw FlowError("the flow has \(flow.nodes.count) nodes, and at most \(FlowDraft.maxNodes) are possible")
        }
        var positions: [String: Int] = [:]
        positions.reserveCapacity(flow.nodes.count)
        for (position, node) in flow.nodes.enumerated() {
            guard FlowNode.isName(node.name) else {
                throw FlowError(node: node.name, "use 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-” for its name")
            }
            guard positions.updateValue(position, forKey: node.name) == nil else {
                throw FlowError(node: node.name, "another node has this name")
            }
            try Self.requireNoKey(node.draft, node.name)
        }
        for callback in flow.callbacks { try Self.requireNoKey(callback.draft, callback.condition.name) }
        guard Set(flow.callbacks.map(\.condition)).count == flow.callbacks.count else {
            throw FlowError("two callbacks have one condition; put the second behind the first with “after”")
        }
        let (order, parents) = try Self.order(flow.nodes, positions)
        var newPositions = [Int](repeating: 0, count: order.count)
        for (new, old) in order.enumerated() { newPositions[old] = new }
        self.flow = flow
        nodes = order.map { old in
            let node = flow.nodes[old]
            return Node(
                name: node.name, draft: node.draft,
                parents: parents[old].map { (newPositions[$0.position], $0.condition) }.sorted { $0.0 < $1.0 },
                mayFail: node.mayFail)
        }
    }

    private static func requireNoKey(_ draft: CommandDraft, _ name: String) throws(FlowError) {
        guard draft.uniqueKey == nil, draft.orderingKey == nil, draft.dependencies.isEmpty, draft.batch == nil else {
            throw FlowError(
                node: name,
                "a node has no key of its own, no batch, and no parents outside of its flow; the flow may have keys")
        }
    }

    private typealias Parents = [(position: Int, condition: DependencyCondition)]

    /// Kahn's algorithm, which keeps the given order where it can.
    private static func order(
        _ nodes: [FlowNode], _ positions: [String: Int]
    ) throws(FlowError) -> (order: [Int], parents: [Parents]) {
        var parents: [Parents] = []
        parents.reserveCapacity(nodes.count)
        var children = [[Int]](repeating: [], count: nodes.count)
        var count = 0
        for (position, node) in nodes.enumerated() {
            var own: Parents = []
            for (name, condition) in node.after {
                guard let parent = positions[name] else {
                    let suggestion = NearestName.suggestion(for: name, among: nodes.lazy.map(\.name))
                    throw FlowError(node: node.name, "there is no node “\(name)” to wait for\(suggestion)")
                }
                own.append((parent, condition))
                children[parent].append(position)
            }
            count += own.count
            parents.append(own)
        }
        guard count <= FlowDraft.maxDependencies else {
            throw FlowError(
                "the flow has \(count) dependencies, and at most \(FlowDraft.maxDependencies) are possible; put a noop between "
                    + "two groups of nodes")
        }
        var open = parents.map(\.count)
        var ready = open.indices.filter { open[$0] == 0 }
        var order: [Int] = []
        order.reserveCapacity(nodes.count)
        var next = 0
        while next < ready.count {
            let position = ready[next]
            next += 1
            order.append(position)
            for child in children[position] {
                open[child] -= 1
                if open[child] == 0 { ready.append(child) }
            }
        }
        if order.count < nodes.count {
            throw FlowError("the nodes wait for each other: \(cycle(nodes, parents, open))")
        }
        return (order, parents)
    }

    /// A cycle among the nodes that wait for each other, as text.
    private static func cycle(_ nodes: [FlowNode], _ parents: [Parents], _ open: [Int]) -> String {
        guard var position = open.firstIndex(where: { $0 > 0 }) else { return "" }
        var path: [Int] = []
        var seen: [Int: Int] = [:]
        while seen[position] == nil {
            seen[position] = path.count
            path.append(position)
            guard let parent = parents[position].first(where: { open[$0.position] > 0 }) else { break }
            position = parent.position
        }
        let names = (path[(seen[position] ?? 0)...] + [position]).reversed().map { nodes[$0].name }
        guard names.count > 9 else { return names.joined(separator: " → ") }
        return (names.prefix(4) + ["…"] + names.suffix(4)).joined(separator: " → ")
    }
}

/// Why a flow cannot be submitted.
public struct FlowError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The node with the problem; nil where it is the flow's own.
    public var node: String?
    /// A sentence without a full stop at its end.
    public var problem: String

    package init(node: String? = nil, _ problem: String) {
        self.node = node
        self.problem = problem
    }

    public var description: String { node.map { "node “\($0)”: \(problem)" } ?? problem }
}
