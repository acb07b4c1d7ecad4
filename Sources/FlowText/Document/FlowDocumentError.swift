internal import Commands

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
