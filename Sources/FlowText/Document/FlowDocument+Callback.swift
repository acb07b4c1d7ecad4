package import Commands

extension FlowDocument {
    /// A command that runs when the flow has ended, and is not a part of it.
    package struct Callback: Sendable, Equatable {
        /// The ends of the flow that let it run.
        package var condition: DependencyCondition
        package var node: Node
    }
}
