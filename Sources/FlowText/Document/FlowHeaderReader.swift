internal import Commands

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
