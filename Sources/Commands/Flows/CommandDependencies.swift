/// The commands that one command waits for, at one moment.
public struct CommandDependencies: Sendable, Equatable {
    /// A command that another one waits for.
    public struct Parent: Sendable, Equatable {
        public var command: Command
        /// Its name in its flow; nil outside of one.
        public var name: String?
        /// The ends that let the other one run.
        public var condition: DependencyCondition

        package init(command: Command, name: String?, condition: DependencyCondition) {
            self.command = command
            self.name = name
            self.condition = condition
        }
    }

    /// The flow that the command is a node or a callback of; nil where it is in none.
    public var flow: CommandID?
    /// Its name in that flow; nil for a callback.
    public var name: String?
    /// The number of all commands that it depends on.
    public var count: Int
    /// The number of those that have not ended as it needs.
    public var open: Int
    /// The first of those.
    public var parents: [Parent]

    package init(flow: CommandID?, name: String?, count: Int, open: Int, parents: [Parent]) {
        self.flow = flow
        self.name = name
        self.count = count
        self.open = open
        self.parents = parents
    }
}
