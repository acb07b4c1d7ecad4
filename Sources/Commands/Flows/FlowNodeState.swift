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
