/// Why a flow cannot be submitted.
public struct FlowError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The node with the problem; nil where it is the flow's own.
    public var node: String?
    /// A sentence without a full stop at its end.
    public var problem: String

    package init(node: String? = nil, _ problem: String) {
        self.node = node
        self.problem = problem
    }

    public var description: String { node.map { "node “\($0)”: \(problem)" } ?? problem }
}
