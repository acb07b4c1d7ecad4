/// A batch, as the store has it.
public struct BatchState: Sendable, Equatable {
    /// Its own command, of type `batch`.
    public var command: Command
    /// For people.
    public var name: String
    /// No member can be added any more.
    public var isSealed: Bool
    /// Members in all.
    public var members: Int
    /// Members that have not ended.
    public var open: Int
    /// Members that have ended in `tooManyTimes` or `cancelled`.
    public var failed: Int

    package init(command: Command, name: String, isSealed: Bool, members: Int, open: Int, failed: Int) {
        self.command = command
        self.name = name
        self.isSealed = isSealed
        self.members = members
        self.open = open
        self.failed = failed
    }
}
