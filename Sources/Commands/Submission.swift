/// The command that a submit made or found.
public struct Submission: Sendable, Equatable {
    /// The id of the new command, or of the existing one.
    public var id: CommandID
    /// Whether an equal command held the unique key. Then `id` is the id of that command, and nothing was
    /// inserted.
    public var isExisting: Bool
    /// The turn of the new command; 0 for an existing one.
    package var turn: Int64

    /// It waits for others. False for one that existed already.
    package var isBlocked = false
    /// Other commands that are ready and have changed: they have a higher quality of service, because a command of this
    /// commit waits for them. One of its submissions has them.
    package var changed: [CommandID] = []
    /// The quality of service of the command, where it is higher than that of the draft: an urgent command waits for its batch.
    package var qos: QualityOfService?

    package init(id: CommandID, isExisting: Bool, turn: Int64 = 0) {
        self.id = id
        self.isExisting = isExisting
        self.turn = turn
    }
}
