/// How a command ended.
public struct CommandOutcome: Sendable, Equatable {
    public var id: CommandID
    /// `success`, `cancelled`, `tooManyTimes` or `inDoubt`.
    public var status: CommandStatus
    /// Why, where it is no success.
    public var reason: String?
    /// What the operation left, as JSON.
    public var result: [UInt8]?

    public var isSuccess: Bool { status == .success }
}
