/// Why a stale response is an answer: `staleBecause` of a result.
enum StaleReason: String, Sendable, CaseIterable {
    /// It is shown while its origin is asked.
    case asking
    /// Its origin permits it while it is refreshed (RFC 5861, section 3).
    case whileRevalidating = "stale-while-revalidate"
    /// Its origin permits it after an error (RFC 5861, section 4).
    case ifError = "stale-if-error"
    /// The request asked for it: by its mode or by `maxStale`.
    case requested
    /// The origin cannot be reached.
    case offline
    /// The connection ended before the whole response had arrived.
    case disconnected
}
