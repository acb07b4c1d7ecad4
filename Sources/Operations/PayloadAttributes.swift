public import Commands

/// The facts that an operation reads in a payload at submit.
public struct PayloadAttributes: Sendable, Equatable {
    /// The server that the command talks to; ``Destination/none`` without one.
    public var destination: Destination
    /// Whether the command may be executed again after an ambiguous end, unless the producer says otherwise.
    public var idempotent: Bool
    /// Bytes in all; 0 when not known.
    public var total: Int64
    /// The charged failures after which the command is given up, where its producer does not say. Nil: 5
    /// (``Command/defaultRetryLimit``).
    public var retryLimit: Int?
    /// The payload to store in place of the given one: with absolute paths, or with facts about the source.
    /// Nil: the given one.
    public var payload: JSONValue?
    /// The value by which two submits under one unique key are equal, where ``payload`` also has parts that
    /// change while the work stays the same, such as an inode. Nil: the bytes of the stored payload decide.
    public var identity: JSONValue?

    public init(destination: Destination, idempotent: Bool, total: Int64 = 0, payload: JSONValue? = nil) {
        self.destination = destination
        self.idempotent = idempotent
        self.total = total
        self.payload = payload
    }
}
