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

/// Reads the members of a flow that are not its nodes.
struct FlowHeaderReader {
    let text: FlowTextReader

    /// - Parameter known: ``FlowKeys/flow`` or ``FlowKeys/lineFlow``.
    /// - Returns: a document without nodes, and the options that nodes have by default.
    func header(
        _ members: [LocatedValue.Member], known: [String]
    ) throws(FlowDocumentError) -> (document: FlowDocument, defaults: [JSONValue.Member]) {
        var document = FlowDocument()
        var defaults: [JSONValue.Member] = []
        var callbacks: LocatedValue.Member?
        for member in members {
            guard known.contains(member.name) else {
                throw text.unknownKey(member, known: known, "a flow")
            }
            switch member.name {
            case "name": document.name = try name(member)
            case "onFailure": document.stopsOnFailure = try stopsOnFailure(member)
            case "defaults": defaults = try self.defaults(member)
            case "then": callbacks = member
            case "nodes": break
            default: document.options.append(JSONValue.Member(member.name, member.value.value))
            }
        }
        let qos = document.options.filter { $0.name == "qos" }
        if let callbacks { document.callbacks = try self.callbacks(callbacks, defaults: qos) }
        if !defaults.contains(where: { $0.name == "qos" }) { defaults += qos }
        return (document, defaults)
    }

    private func name(_ member: LocatedValue.Member) throws(FlowDocumentError) -> String {
        let name = try text.string(member)
        let hasControl = name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard (1...FlowDocument.maxNameCharacters).contains(name.unicodeScalars.count), !hasControl else {
            throw text.error(
                member.position,
                "the name of a flow must have 1 to \(FlowDocument.maxNameCharacters) characters, none of which is a "
                    + "control character")
        }
        return name
    }

    private func stopsOnFailure(_ member: LocatedValue.Member) throws(FlowDocumentError) -> Bool {
        switch try text.string(member) {
        case "stop": return true
        case "continue": return false
        case let word:
            throw text.error(
                member.position, "“onFailure” is “\(word.excerpt)” and must be “stop” or “continue”")
        }
    }

    private func defaults(_ member: LocatedValue.Member) throws(FlowDocumentError) -> [JSONValue.Member] {
        var defaults: [JSONValue.Member] = []
        for option in try text.members(of: member.value, "“defaults”", at: member.position) {
            guard FlowKeys.nodeOptions.contains(option.name) else {
                throw text.unknownKey(option, known: FlowKeys.nodeOptions, "“defaults”")
            }
            defaults.append(JSONValue.Member(option.name, option.value.value))
        }
        return defaults
    }

    /// - Parameter defaults: the qos of the flow. The other defaults are for its nodes only: a deadline, for example.
    private func callbacks(
        _ member: LocatedValue.Member, defaults: [JSONValue.Member]
    ) throws(FlowDocumentError) -> [FlowDocument.Callback] {
        let reader = FlowNodeReader(text: text, defaults: defaults)
        var callbacks: [FlowDocument.Callback] = []
        for callback in try text.members(of: member.value, "“then”", at: member.position) {
            guard let condition = DependencyCondition(name: callback.name) else {
                throw text.unknownKey(callback, known: DependencyCondition.allCases.map(\.name), "“then”")
            }
            let members = try text.members(
                of: callback.value, "a callback", at: callback.position, node: callback.name)
            let read = try reader.node(callback.name, members, known: FlowKeys.callback, at: callback.position)
            try requireFlowReferences(read)
            callbacks.append(FlowDocument.Callback(condition: condition, node: read.node))
        }
        return callbacks
    }

    private func requireFlowReferences(_ callback: UnresolvedNode) throws(FlowDocumentError) {
        for reference in callback.node.template.references {
            if case .flow = reference.source { continue }
            throw text.error(
                callback.payload?.position(at: reference.location), node: callback.node.name,
                "a callback cannot refer to the result of “\(reference.source)”; refer to the flow with “$flow”, or add a "
                    + "node after “\(reference.source)”")
        }
    }
}

/// Reads the values of a flow document; it makes the errors of one file.
struct FlowTextReader {
    let file: String?

    func error(_ position: SourcePosition?, node: String? = nil, _ problem: String) -> FlowDocumentError {
        FlowDocumentError(file: file, position: position, node: node, problem: problem)
    }

    /// The members of a mapping.
    /// - Parameter subject: the name of the value in errors.
    func members(
        of value: LocatedValue, _ subject: String, at position: SourcePosition? = nil, node: String? = nil
    ) throws(FlowDocumentError) -> [LocatedValue.Member] {
        guard let members = value.members else {
            throw error(position ?? value.position, node: node, "\(subject) must be a mapping, not \(value.value.kind)")
        }
        return members
    }

    func string(_ member: LocatedValue.Member, node: String? = nil) throws(FlowDocumentError) -> String {
        switch member.value.value {
        case .string(let text): return text
        case .bool, .integer, .number, .decimal:
            throw error(
                member.position, node: node,
                "“\(member.name)” must be a string, not \(member.value.value.kind); write it in quotes")
        case .null, .array, .object:
            throw error(
                member.position, node: node, "“\(member.name)” must be a string, not \(member.value.value.kind)")
        }
    }

    func unknownKey(
        _ member: LocatedValue.Member, known: [String], _ subject: String, node: String? = nil
    ) -> FlowDocumentError {
        let name = member.name.excerpt
        guard let near = NearestName.find(member.name, among: known) else {
            let list = known.dropLast().joined(separator: ", ") + " and " + (known.last ?? "")
            return error(member.position, node: node, "unknown key “\(name)”: \(subject) has \(list)")
        }
        return error(member.position, node: node, "unknown key “\(name)”; is it “\(near)”?")
    }
}

/// The keys of a flow document.
enum FlowKeys {
    /// Options of the flow, which the caller interprets.
    static let flowOptions = ["qos", "deadline", "uniqueKey", "uniqueFor", "orderingKey", "keyLimit", "keyFailure"]
    static let flow = ["name"] + flowOptions + ["onFailure", "defaults", "nodes", "then"]
    /// The first line of JSON lines: the nodes are the other lines.
    static let lineFlow = flow.filter { $0 != "nodes" }
    /// Options of a node, which the caller interprets.
    static let nodeOptions = ["qos", "idempotent", "retryLimit", "notBefore", "deadline", "destination", "limit"]
    static let node = ["type", "payload", "after", "mayFail"] + nodeOptions
    static let callback = ["type", "payload"] + nodeOptions
}
