/// A command that was submitted to a queue, with its payload.
public struct SubmittedCommand: Sendable, Equatable {
    /// The command as it is now.
    public var command: Command
    /// The stored payload: as the submit gave it, unless the `inspect` of its operation replaced it.
    public var payload: JSONValue
}
