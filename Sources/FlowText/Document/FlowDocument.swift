package import Commands

/// A flow as a YAML or JSON document describes it. Options are not interpreted: they have the names and forms of the
/// members of a line of bulk submit.
package struct FlowDocument: Sendable, Equatable {
    /// 1 to 200 characters. The default is `flow`.
    package var name = FlowDocument.defaultName
    /// Those of the flow itself: qos, deadline, keys, in the order of the document.
    package var options: [JSONValue.Member] = []
    /// Whether the failure of one node cancels the others (`onFailure: stop`). The default is false.
    package var stopsOnFailure = false
    /// In the order of the document.
    package var nodes: [Node] = []
    /// At most one for each condition.
    package var callbacks: [Callback] = []

    package init() {}

    package static let defaultName = "flow"
    /// Characters of the longest name.
    package static let maxNameCharacters = 200

    /// Reads a document. `sluice flow submit` documents its form.
    /// - Parameters:
    ///   - text: YAML, or JSON where the first character is “{”, in UTF-8.
    ///   - file: the name for errors; nil for a text without a name.
    /// - Throws: ``FlowDocumentError`` for a text that ``YAMLText`` refuses, an unknown key, a value of the wrong
    ///   kind, a malformed or unknown name, a reference to a node whose result may be missing and that has no default,
    ///   and for more nodes or dependencies than ``Commands/FlowDraft`` allows. Cycles are left to the flow's plan.
    package init(parsing text: [UInt8], file: String?) throws(FlowDocumentError) {
        let value: LocatedValue
        do {
            value = try YAMLText.parse(text)
        } catch {
            throw FlowDocumentError(file: file, position: error.position, problem: error.problem)
        }
        self = try FlowDocumentReader(file: file).document(value)
    }
}

extension FlowDocument {
    /// A command of a flow, or one that runs at its end.
    package struct Node: Sendable, Equatable {
        /// Unique in its flow. The word for its condition where it is a callback.
        package var name: String
        package var type: String
        /// With its references; an empty object where the document has none.
        package var payload: JSONValue
        /// The references of ``payload``.
        package var template: PayloadTemplate
        /// The nodes that it waits for, by name, those of its references included. Empty for a callback.
        package var after: [String: DependencyCondition] = [:]
        /// Whether its failure satisfies dependencies on its success, and does not fail the flow.
        package var mayFail = false
        /// qos, idempotent, retryLimit, notBefore, deadline, destination and limit: its own in the order of the document,
        /// then the defaults that it does not have itself.
        package var options: [JSONValue.Member] = []
        package var position: SourcePosition?
    }

    /// A command that runs when the flow has ended, and is not a part of it.
    package struct Callback: Sendable, Equatable {
        /// The ends of the flow that let it run.
        package var condition: DependencyCondition
        package var node: Node
    }
}

/// Why and where a flow document cannot be used.
package struct FlowDocumentError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The name of the file; nil where the text has none, as standard input.
    package var file: String?
    /// Nil where the problem is the whole text.
    package var position: SourcePosition?
    /// The node with the problem; nil where it is the flow's own.
    package var node: String?
    /// A sentence without a full stop at its end.
    package var problem: String

    package init(file: String?, position: SourcePosition?, node: String? = nil, problem: String) {
        self.file = file
        self.position = position
        self.node = node
        self.problem = problem
    }

    /// As `quotes.yaml:7: node “sync”: there is no node “downlaod” to wait for; is it “download”?`.
    package var description: String {
        let origin =
            switch (file, position) {
            case (let file?, let position?): "\(file):\(position.line): "
            case (let file?, nil): "\(file): "
            case (nil, let position?): "line \(position.line): "
            case (nil, nil): ""
            }
        return origin + FlowError(node: node.map { $0.excerpt }, problem).description
    }
}
