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

/// A node or a callback of a flow as it is at one moment.
public struct FlowNodeState: Sendable, Equatable {
    /// A command that this one waits or waited for.
    public struct Parent: Sendable, Equatable {
        /// Its ``FlowNodeState/position``; that of the flow itself for a callback.
        public var position: Int64
        /// The ends that let the node run.
        public var condition: DependencyCondition
        /// Whether it has ended in such a way.
        public var isSatisfied: Bool

        package init(position: Int64, condition: DependencyCondition, isSatisfied: Bool) {
            self.position = position
            self.condition = condition
            self.isSatisfied = isSatisfied
        }
    }

    /// Its place in the flow: each node is behind its parents.
    public var position: Int64
    /// Nil for a callback.
    public var name: String?
    /// Its command.
    public var command: Command
    /// In the order of their positions.
    public var parents: [Parent]
    /// Whether its failure does not fail the flow.
    public var mayFail: Bool
    /// Whether it was cancelled because the end that it handles did not come, which is not a failure.
    public var isUnneeded: Bool

    package init(
        position: Int64, name: String?, command: Command, parents: [Parent], mayFail: Bool, isUnneeded: Bool
    ) {
        self.position = position
        self.name = name
        self.command = command
        self.parents = parents
        self.mayFail = mayFail
        self.isUnneeded = isUnneeded
    }
}
