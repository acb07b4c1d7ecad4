/// A reference of a payload to the result of another command, or to a fact about its flow.
package struct PayloadReference: Sendable, Equatable {
    /// The command or the fact.
    package var source: Source
    /// The part of the result; the root is the whole result. Always the root for `$results` and `$flow`.
    package var pointer: JSONPointer
    /// The value that stands in for a result or a part that is missing; nil where this is an error.
    package var defaultValue: JSONValue?
    /// The position of the reference in its payload, as RFC 6901 writes it, cut after 512 bytes; empty where the payload
    /// is the reference.
    package var location: String
}

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

/// A fact about a flow that a callback's payload can have: `{"$flow": "id"}`.
///
/// The raw values are the words in payloads.
package enum FlowField: String, Sendable, CaseIterable {
    /// The flow's UUID.
    case id
    /// The word for the status in which it has ended.
    case status
    /// The number of its failed nodes.
    case failed
    /// Its name.
    case name
    /// The number of its nodes.
    case nodes
}

/// Why a reference of a payload is malformed or cannot be resolved.
package struct PayloadReferenceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The position in the payload, as RFC 6901 writes it, cut after 512 bytes; empty for the whole payload.
    package var location: String
    /// A sentence without a full stop at its end, and without the location.
    package var problem: String

    package var description: String {
        location.isEmpty ? "payload: \(problem)" : "payload, “\(location.excerpt)”: \(problem)"
    }
}

/// Why a payload was not resolved.
package enum PayloadResolutionError<SourceError: Error>: Error {
    /// A reference leads to nothing, or the resolved payload exceeds a limit. Another attempt ends alike.
    case payload(PayloadReferenceError)
    /// A result could not be read.
    case source(SourceError)
}

extension PayloadResolutionError: Equatable where SourceError: Equatable {}

extension PayloadResolutionError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .payload(let error): error.description
        case .source(let error): String(describing: error)
        }
    }
}
