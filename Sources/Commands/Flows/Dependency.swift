/// A command that another one waits for.
public struct Dependency: Sendable, Hashable {
    /// The command whose end is waited for.
    public var parent: CommandID
    /// The ends that let the command run. The default is `success`.
    public var condition: DependencyCondition

    /// Makes a dependency.
    public init(on parent: CommandID, _ condition: DependencyCondition = .success) {
        self.parent = parent
        self.condition = condition
    }
}
