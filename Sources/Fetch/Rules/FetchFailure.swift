/// Why a request brought no usable response.
enum FetchFailure: Sendable, Equatable {
    /// The name cannot be resolved, the connection is refused, no route, or the link's level is offline.
    case offline
    /// The connection ended, was silent too long, or the body was cut off.
    case disconnected
    /// The server answered with an error.
    case status(Int)

    /// The statuses that count as errors for `stale-if-error` (RFC 5861, section 4).
    static let errorStatuses: Set<Int> = [500, 502, 503, 504]
}
