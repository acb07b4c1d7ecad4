extension PayloadReference {
    /// The origin of a referenced value.
    package enum Source: Hashable, Sendable {
        /// A node of the same flow, by name.
        case node(String)
        /// A command by its id, in place of a node's name.
        case command(CommandID)
        /// Each node whose name starts with this prefix, in the order of the flow's nodes.
        case pattern(prefix: String)
        /// A fact about the flow that a callback belongs to.
        case flow(FlowField)

        /// A node, or a command for the text of a UUID.
        /// - Returns: nil for a text that is neither a name nor a UUID.
        package init?(name: String) {
            if let id = CommandID(name) {
                self = .command(id)
            } else if FlowNode.isName(name) {
                self = .node(name)
            } else {
                return nil
            }
        }

        /// The nodes of a text such as `page-*`, or `*` for all.
        /// - Returns: nil where the star is missing or does not follow the characters of a name.
        package init?(pattern: String) {
            guard pattern.utf8.last == UInt8(ascii: "*") else { return nil }
            let prefix = String(pattern.unicodeScalars.dropLast())
            guard prefix.isEmpty || FlowNode.isName(prefix) else { return nil }
            self = .pattern(prefix: prefix)
        }
    }
}

extension PayloadReference.Source: CustomStringConvertible {
    /// The text as the payload has it: a name, a UUID, a pattern with its star, or the word for a fact.
    package var description: String {
        switch self {
        case .node(let name): name
        case .command(let id): id.description
        case .pattern(let prefix): prefix + "*"
        case .flow(let field): field.rawValue
        }
    }
}
