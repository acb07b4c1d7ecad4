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
