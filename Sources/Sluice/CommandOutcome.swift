/// The end of a command.
public struct CommandOutcome: Sendable, Equatable {
    public var id: CommandID
    /// `success`, `cancelled`, `tooManyTimes` or `inDoubt`.
    public var status: CommandStatus
    /// The reason of an end other than success, in a sentence.
    public var reason: String?
    /// The result of the operation, as JSON; nil where it returned none.
    public var result: [UInt8]?

    public var isSuccess: Bool { status == .success }
}
