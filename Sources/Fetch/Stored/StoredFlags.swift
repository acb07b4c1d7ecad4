/// Properties of a stored response that do not depend on the time: the column `flags`.
struct StoredFlags: OptionSet, Sendable, Hashable {
    var rawValue: Int64

    /// Must be validated for each use (`no-cache`).
    static let noCache = StoredFlags(rawValue: 1)
    /// Never used while stale: `must-revalidate`; in a shared cache `proxy-revalidate` and `s-maxage` too.
    static let mustRevalidate = StoredFlags(rawValue: 2)
    /// Does not change while it is fresh, so that a reload does not ask (RFC 8246).
    static let immutable = StoredFlags(rawValue: 4)
    /// `fresh_until` is a guess from `Last-Modified`.
    static let heuristic = StoredFlags(rawValue: 8)
    /// `Vary: *`: matches no request.
    static let variesByAnything = StoredFlags(rawValue: 16)
    /// An unsafe request to its URL succeeded since (RFC 9111, section 4.4). A validation clears it.
    static let invalidated = StoredFlags(rawValue: 32)
}
