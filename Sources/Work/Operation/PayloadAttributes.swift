public import Commands

/// What an operation reads in a payload at submit.
public struct PayloadAttributes: Sendable, Equatable {
    /// Whom the command talks to; ``Destination/none`` for nobody.
    public var destination: Destination
    /// May the command be executed again after an ambiguous end? A producer can say otherwise.
    public var idempotent: Bool
    /// Bytes in all; 0 when not known.
    public var total: Int64
    /// The payload to keep in place of the given one: with paths made absolute, or with what was seen of the source.
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
