/// A batch that is about to be made: it ends when all its members have ended. Members are commands of any type, in any
/// number, which are added as long as the batch is not sealed (``CommandDraft/batch``).
public struct BatchDraft: Sendable, Equatable {
    /// A name for people; it need not be unique.
    public var name: String
    /// Commands that run when the batch has ended: it is a success where no member has failed. At most one for each
    /// condition. Empty by default.
    public var callbacks: [FlowDraft.Callback] = []
    /// How urgent the batch itself is, for lists; each member has its own. The default is `default`.
    public var qos = QualityOfService.default
    /// The batch, and with it the members that have not ended, is cancelled at this time. Nil, the default: never.
    public var deadline: Timestamp?

    /// Makes a batch whose other fields have their defaults.
    public init(_ name: String) { self.name = name }
}

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
