internal import Commands
package import FlowText

/// Why a flow cannot be made of its document.
package struct FlowBuildError: Error, CustomStringConvertible {
    /// The node with the problem; nil where it is the flow's own.
    package var node: String?
    /// Of the node; nil where it is not known.
    package var position: SourcePosition?
    /// The error of the option, of the payload or of the registry.
    package var cause: any Error

    package init(node: String?, position: SourcePosition?, cause: any Error) {
        self.node = node
        self.position = position
        self.cause = cause
    }

    package var description: String { FlowError(node: node, "\(cause)").description }
}
