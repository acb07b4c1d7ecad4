/// The end of a command, as ``SluiceClient/wait(for:)`` returns it.
public struct CommandOutcome: Sendable, Equatable {
    /// The command that has ended.
    public var id: CommandID
    /// `success`, `cancelled`, `tooManyTimes` or `inDoubt`.
    public var status: CommandStatus
    /// The reason of an end other than success, in a sentence; nil after a success.
    public var reason: String?
    /// The result of the operation, as JSON; nil where it returned none, and after an end other than success.
    public var result: [UInt8]?

    /// - Parameter status: a final one.
    package init(id: CommandID, status: CommandStatus, reason: String?, result: [UInt8]?) {
        self.id = id
        self.status = status
        self.reason = reason
        self.result = result
    }

    /// Whether the status is `success`.
    public var isSuccess: Bool { status == .success }
}
