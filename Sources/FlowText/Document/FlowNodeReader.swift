internal import Commands

/// Reads the members of a node or a callback.
struct FlowNodeReader {
    let text: FlowTextReader
    /// Options of each node that does not have them itself.
    var defaults: [JSONValue.Member] = []

    /// - Parameters:
    ///   - members: without the member that has the name.
    ///   - known: ``FlowKeys/node`` or ``FlowKeys/callback``.
    func node(
        _ name: String, _ members: [LocatedValue.Member], known: [String], at position: SourcePosition
    ) throws(FlowDocumentError) -> UnresolvedNode {
        var type: String?
        var payload: LocatedValue?
        var options: [JSONValue.Member] = []
        var mayFail = false
        var after: [UnresolvedNode.Entry] = []
        for member in members {
            guard known.contains(member.name) else {
                let subject = known == FlowKeys.node ? "a node" : "a callback"
                throw text.unknownKey(member, known: known, subject, node: name)
            }
            switch member.name {
            case "type": type = try self.type(member, node: name)
            case "payload": payload = member.value
            case "after": after = try entries(member, node: name)
            case "mayFail":
                guard let value = member.value.value.bool else {
                    throw text.error(
                        member.position, node: name,
                        "“mayFail” must be true or false, not \(member.value.value.kind)")
                }
                mayFail = value
            default: options.append(JSONValue.Member(member.name, member.value.value))
            }
        }
        guard let type else {
            throw text.error(position, node: name, "“type” is missing; name the operation, as in “type: download”")
        }
        for option in defaults where !options.contains(where: { $0.name == option.name }) { options.append(option) }
        if case .null? = payload?.value { payload = nil }
        let value = payload?.value ?? .object([])
        return UnresolvedNode(
            node: FlowDocument.Node(
                name: name, type: type, payload: value, template: try template(value, payload, node: name),
                mayFail: mayFail, options: options, position: position),
            after: after, payload: payload)
    }

    /// - Throws: ``FlowDocumentError`` for a text that cannot be the name of a node.
    func requireName(_ name: String, at position: SourcePosition) throws(FlowDocumentError) {
        guard FlowNode.isName(name) else {
            throw text.error(position, node: name, "use 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-” for its name")
        }
        guard CommandID(name) == nil else {
            throw text.error(
                position, node: name, "a UUID cannot be the name of a node, because references take it for a command")
        }
    }

    private func type(_ member: LocatedValue.Member, node: String) throws(FlowDocumentError) -> String {
        let type = try text.string(member, node: node)
        guard CommandDraft.isType(type) else {
            throw text.error(
                member.position, node: node,
                "“type” is “\(type.excerpt)” and must be 1 to 64 of a-z, 0-9, “.” and “-”")
        }
        return type
    }

    private func template(
        _ value: JSONValue, _ payload: LocatedValue?, node: String
    ) throws(FlowDocumentError) -> PayloadTemplate {
        do {
            return try PayloadTemplate(value)
        } catch {
            throw text.error(payload?.position(at: error.location), node: node, error.description)
        }
    }

    private func entries(
        _ member: LocatedValue.Member, node: String
    ) throws(FlowDocumentError) -> [UnresolvedNode.Entry] {
        var entries: [UnresolvedNode.Entry] = []
        func add(_ name: String, _ condition: DependencyCondition, _ position: SourcePosition) throws(FlowDocumentError)
        {
            guard FlowNode.isName(name) || PayloadReference.Source(pattern: name) != nil else {
                throw text.error(
                    position, node: node,
                    "“after” has “\(name.excerpt)”, which is neither a name nor the start of names with “*”")
            }
            entries.append(.init(name: name, condition: condition, position: position))
        }
        if let name = member.value.value.string {
            try add(name, .success, member.position)
        } else if let elements = member.value.elements {
            for element in elements {
                guard let name = element.value.string else {
                    throw text.error(
                        element.position, node: node, "“after” lists \(element.value.kind); each element must be a name"
                    )
                }
                try add(name, .success, element.position)
            }
        } else if let members = member.value.members {
            for parent in members {
                let word = try text.string(parent, node: node)
                guard let condition = DependencyCondition(name: word) else {
                    throw text.error(
                        parent.position, node: node,
                        "the condition of “\(parent.name.excerpt)” is “\(word.excerpt)” and must be success, failure "
                            + "or end")
                }
                try add(parent.name, condition, parent.position)
            }
        } else {
            throw text.error(
                member.position, node: node,
                "“after” must be a name, a list of names or a mapping of names to conditions, not "
                    + member.value.value.kind)
        }
        return entries
    }
}

/// A node whose dependencies are not resolved yet, since they can name later nodes.
struct UnresolvedNode {
    /// An entry of `after`: the name of a node, or the start of names with a star.
    struct Entry {
        var name: String
        var condition: DependencyCondition
        var position: SourcePosition
    }

    /// Without dependencies.
    var node: FlowDocument.Node
    var after: [Entry] = []
    /// Nil where the node has no payload.
    var payload: LocatedValue?
}
