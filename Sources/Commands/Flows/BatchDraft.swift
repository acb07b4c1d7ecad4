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
