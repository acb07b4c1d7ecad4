/// The change of a row by one remote record.
enum MergeAction: Sendable, Equatable {
    case insert
    /// Replaces the body; the row is not local any more.
    case update
    case delete
    /// The bodies are equal: the row is not local any more, and observers hear nothing.
    case settle
    /// The local body stays; the remote record is stored beside it.
    case storeRemote
    /// Nothing is written.
    case none
}
