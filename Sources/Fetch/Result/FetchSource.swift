/// Where the body of an answer comes from.
enum FetchSource: String, Sendable, CaseIterable {
    /// From the origin, just now.
    case network
    /// From the store, confirmed by the origin just now.
    case notModified
    /// From the store.
    case stored
}
