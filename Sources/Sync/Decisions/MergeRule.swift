/// Which side a row that was changed here takes over: the value of `merge` in the payload.
enum MergeRule: String, Sendable, CaseIterable {
    /// The remote record replaces it.
    case remote
    /// It stays, and the remote record is stored beside it.
    case local
    /// The later version stays.
    case newest
}
