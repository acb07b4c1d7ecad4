/// When `fetch` asks the network: the payload's `mode`.
enum FetchMode: String, Sendable, CaseIterable {
    /// Shows the stored response at once and asks, unless it is explicitly fresh.
    case both
    /// Asks always, and takes only an answer that the origin has just confirmed.
    case reload
    /// Never asks.
    case stored
    /// Asks first, and takes the stored response where that fails.
    case network
}
