internal import Commands

/// Resolves the dependencies of nodes: the names of `after`, and the references of payloads.
struct FlowDependencyResolver {
    let text: FlowTextReader
    var index = FlowNodeIndex()
    /// The word before “node” in errors: nodes of JSON lines can name earlier ones only.
    var adjective = ""
    /// The dependencies so far.
    private var count = 0
    /// The names so far, repeated ones included: they cost time, but are not dependencies.
    private var visited = 0

    init(text: FlowTextReader) { self.text = text }

    private typealias After = [String: DependencyCondition]

    /// - Returns: the node with its dependencies.
    mutating func resolve(_ unresolved: UnresolvedNode) throws(FlowDocumentError) -> FlowDocument.Node {
        var node = unresolved.node
        guard !unresolved.after.isEmpty || node.template.hasReferences else { return node }
        var after: After = [:]
        for entry in unresolved.after where !entry.name.utf8.contains(UInt8(ascii: "*")) {
            try require(entry.name, entry.position, node.name, "wait for")
            after[entry.name] = entry.condition
            try visit(1, entry.position)
        }
        try addPatterns(unresolved.after, to: &after, of: node)
        for reference in node.template.references {
            // Only an error needs the position, and to find it takes a search.
            do {
                try add(reference, to: &after, of: node)
            } catch {
                var error = error
                error.position = unresolved.payload?.position(at: reference.location) ?? node.position
                throw error
            }
        }
        count += after.count
        guard count <= FlowDraft.maxDependencies else { throw tooMany(node.position) }
        node.after = after
        return node
    }

    /// Adds the nodes of entries with a star. An entry with a whole name decides over them.
    private mutating func addPatterns(
        _ entries: [UnresolvedNode.Entry], to after: inout After, of node: FlowDocument.Node
    ) throws(FlowDocumentError) {
        let named = after
        for entry in entries {
            guard case .pattern(let prefix)? = PayloadReference.Source(pattern: entry.name) else { continue }
            for name in try matches(prefix, entry.position, node.name) where named[name] == nil {
                if let other = after.updateValue(entry.condition, forKey: name), other != entry.condition {
                    throw text.error(
                        entry.position, node: node.name,
                        "“\(entry.name)” and another entry of “after” have different conditions for “\(name)”; name it by "
                            + "itself")
                }
            }
        }
    }

    private mutating func add(
        _ reference: PayloadReference, to after: inout After, of node: FlowDocument.Node
    ) throws(FlowDocumentError) {
        switch reference.source {
        case .flow:
            throw text.error(nil, node: node.name, "only the callbacks under “then” can use “$flow”")
        case .command(let id):
            throw text.error(
                nil, node: node.name,
                "its payload refers to the command \(id), and can refer only to nodes of this flow")
        case .node(let name):
            try require(name, nil, node.name, "refer to")
            try visit(1, nil)
            try add(name, reference, to: &after, of: node)
        case .pattern(let prefix):
            for name in try matches(prefix, nil, node.name) { try add(name, reference, to: &after, of: node) }
        }
    }

    private func add(
        _ parent: String, _ reference: PayloadReference, to after: inout After, of node: FlowDocument.Node
    ) throws(FlowDocumentError) {
        let condition = after[parent] ?? .success
        let hasDefault = reference.defaultValue != nil
        switch condition {
        case .success:
            guard hasDefault || index.mayFail(parent) != true else {
                throw text.error(
                    nil, node: node.name,
                    "its payload refers to the result of “\(parent)”, which may fail; give the reference a “default”")
            }
        case .end:
            guard hasDefault else {
                throw text.error(
                    nil, node: node.name,
                    "its payload refers to the result of “\(parent)”, and it runs also after a failure of that node; give "
                        + "the reference a “default”")
            }
        case .failure:
            throw text.error(
                nil, node: node.name,
                "its payload refers to the result of “\(parent)”, and it runs only after a failure of that node, which "
                    + "leaves no result; wait for “end” and give the reference a “default”")
        }
        after[parent] = condition
    }

    private func require(
        _ name: String, _ position: SourcePosition?, _ node: String, _ verb: String
    ) throws(FlowDocumentError) {
        guard name != node else {
            let problem = verb == "wait for" ? "it waits for itself" : "its payload refers to its own result"
            throw text.error(position, node: node, problem)
        }
        guard index.mayFail(name) == nil else { return }
        let near = NearestName.suggestion(for: name, among: index.names)
        throw text.error(position, node: node, "there is no \(adjective)node “\(name)” to \(verb)\(near)")
    }

    /// The nodes whose names start with `prefix`, but for the node itself; at least one.
    private mutating func matches(
        _ prefix: String, _ position: SourcePosition?, _ node: String
    ) throws(FlowDocumentError) -> [String] {
        let names = index.names(startingWith: prefix, maxCount: FlowDraft.maxDependencies).filter { $0 != node }
        guard !names.isEmpty else {
            let problem =
                prefix.isEmpty
                ? "there is no other \(adjective)node, which “*” needs"
                : "there is no other \(adjective)node with a name that starts with “\(prefix)”"
            throw text.error(position, node: node, problem)
        }
        try visit(names.count, position)
        return names
    }

    private mutating func visit(_ names: Int, _ position: SourcePosition?) throws(FlowDocumentError) {
        visited += names
        // A dependency can stand in “after” and in the payload.
        guard visited <= 2 * FlowDraft.maxDependencies else { throw tooMany(position) }
    }

    private func tooMany(_ position: SourcePosition?) -> FlowDocumentError {
        text.error(
            position,
            "the flow has more than \(FlowDraft.maxDependencies) dependencies; put a noop between two groups of nodes")
    }
}

/// The nodes of a flow by name and by the start of their names. Adding one costs O(log n) on average, also where nodes
/// are added and looked for by turns.
struct FlowNodeIndex {
    /// Whether each node may fail.
    private var nodes: [String: Bool] = [:]
    /// The names in sorted runs, each more than twice as long as the next, so that there are at most log n.
    private var runs: [[String]] = []

    var count: Int { nodes.count }
    var names: some Sequence<String> { nodes.keys }

    /// Whether the node may fail; nil where there is none of that name.
    func mayFail(_ name: String) -> Bool? { nodes[name] }

    /// - Returns: false for a name that is there already.
    mutating func insert(_ name: String, mayFail: Bool) -> Bool {
        guard nodes.updateValue(mayFail, forKey: name) == nil else { return false }
        var run = [name]
        while let last = runs.last, last.count <= run.count * 2 {
            run = Self.merged(last, run)
            runs.removeLast()
        }
        runs.append(run)
        return true
    }

    /// The names that start with `prefix`, in no order. All names are ASCII.
    /// - Parameter maxCount: the search ends with one more.
    func names(startingWith prefix: String, maxCount: Int) -> [String] {
        var names: [String] = []
        for run in runs {
            var (low, high) = (0, run.count)
            while low < high {
                let middle = low + (high - low) / 2
                if run[middle] < prefix { low = middle + 1 } else { high = middle }
            }
            while low < run.count, run[low].hasPrefix(prefix) {
                names.append(run[low])
                if names.count > maxCount { return names }
                low += 1
            }
        }
        return names
    }

    private static func merged(_ left: [String], _ right: [String]) -> [String] {
        var names: [String] = []
        names.reserveCapacity(left.count + right.count)
        var (l, r) = (0, 0)
        while l < left.count, r < right.count {
            if left[l] < right[r] {
                names.append(left[l])
                l += 1
            } else {
                names.append(right[r])
                r += 1
            }
        }
        names.append(contentsOf: left[l...])
        names.append(contentsOf: right[r...])
        return names
    }
}
