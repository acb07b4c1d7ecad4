internal import Commands

/// Reads a flow document, first its names and then the dependencies, which can name later nodes.
struct FlowDocumentReader {
    private let text: FlowTextReader

    init(file: String?) { text = FlowTextReader(file: file) }

    func document(_ value: LocatedValue) throws(FlowDocumentError) -> FlowDocument {
        let members = try text.members(of: value, "the document")
        let header = try FlowHeaderReader(text: text).header(members, known: FlowKeys.flow)
        guard let nodes = members.first(where: { $0.name == "nodes" }) else {
            throw text.error(nil, "“nodes” is missing; write “nodes: {}” for a flow without nodes")
        }
        let reader = FlowNodeReader(text: text, defaults: header.defaults)
        var resolver = FlowDependencyResolver(text: text)
        let unresolved = try read(nodes, reader, into: &resolver.index)
        var document = header.document
        document.nodes.reserveCapacity(unresolved.count)
        for node in unresolved { document.nodes.append(try resolver.resolve(node)) }
        return document
    }

    private func read(
        _ nodes: LocatedValue.Member, _ reader: FlowNodeReader, into index: inout FlowNodeIndex
    ) throws(FlowDocumentError) -> [UnresolvedNode] {
        let named = try names(nodes)
        guard named.count <= FlowDraft.maxNodes else {
            throw text.error(
                nodes.position,
                "the flow has \(named.count) nodes, and at most \(FlowDraft.maxNodes) are possible")
        }
        var result: [UnresolvedNode] = []
        result.reserveCapacity(named.count)
        for (name, position, members) in named {
            try reader.requireName(name, at: position)
            let node = try reader.node(name, members, known: FlowKeys.node, at: position)
            guard index.insert(name, mayFail: node.node.mayFail) else {
                throw text.error(position, node: name, "another node has this name")
            }
            result.append(node)
        }
        return result
    }

    private typealias Named = (name: String, position: SourcePosition, members: [LocatedValue.Member])

    /// The nodes of a mapping, or of a list in which each node has its name as a member.
    private func names(_ nodes: LocatedValue.Member) throws(FlowDocumentError) -> [Named] {
        var result: [Named] = []
        if let members = nodes.value.members {
            result.reserveCapacity(members.count)
            for node in members {
                let own = try text.members(of: node.value, "a node", at: node.position, node: node.name)
                result.append((node.name, node.position, own))
            }
        } else if let elements = nodes.value.elements {
            result.reserveCapacity(elements.count)
            for element in elements {
                let own = try text.members(of: element, "a node")
                guard let name = own.first(where: { $0.name == "name" }) else {
                    throw text.error(element.position, "a node has no “name”, which each node of a list needs")
                }
                result.append((try text.string(name), name.position, own.filter { $0.name != "name" }))
            }
        } else {
            throw text.error(
                nodes.position,
                "“nodes” must be a mapping of names to nodes or a list of nodes, not \(nodes.value.value.kind)")
        }
        return result
    }
}
