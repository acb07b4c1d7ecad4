/// The command that a submit made, or found.
public struct Submission: Sendable, Equatable {
    public var id: CommandID
    /// The unique key is held by an equal command: `id` is that command's, and nothing was inserted.
    public var isExisting: Bool
    /// The row's number in its shard; 0 for an existing command.
    package var turn: Int64

    package init(id: CommandID, isExisting: Bool, turn: Int64 = 0) {
        self.id = id
        self.isExisting = isExisting
        self.turn = turn
    }
}
