/// A flow as it is at one moment.
public struct FlowState: Sendable, Equatable {
    /// The command that is the flow: `blocked` until the last node has ended.
    public var command: Command
    /// The name that its document gives; it need not be unique.
    public var name: String
    /// The number of nodes, without callbacks.
    public var nodes: Int
    /// Nodes that have not ended.
    public var open: Int
    /// Nodes that have ended in `tooManyTimes` or `cancelled`, may not fail, and were needed.
    public var failed: Int

    package init(command: Command, name: String, nodes: Int, open: Int, failed: Int) {
        self.command = command
        self.name = name
        self.nodes = nodes
        self.open = open
        self.failed = failed
    }
}
