/// The extent of a read.
enum SyncRead: Sendable, Equatable {
    /// The whole list.
    case full
    /// The changes since a token.
    case delta(token: String)
}
