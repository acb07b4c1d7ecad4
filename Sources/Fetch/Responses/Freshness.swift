internal import Commands
internal import HTTPClient
internal import Transfers

/// The freshness lifetime of a response (RFC 9111, section 4.2.1).
struct Freshness: Sendable, Equatable {
    /// The statement that the lifetime comes from.
    enum Basis: Sendable, Equatable {
        case sharedMaxAge, maxAge, expires, heuristic
        /// The response says nothing about its lifetime, so it is stale at once.
        case none
    }

    var lifetime: Duration
    var basis: Basis

    static let maxHeuristic: Duration = .seconds(86_400)

    /// The statuses that may be stored without an explicit lifetime (RFC 9110, section 15.1), without 206.
    static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    /// - Parameters:
    ///   - date: the `Date` of the response; the time it arrived where that is missing or invalid.
    ///   - isShared: whether `s-maxage` counts.
    init(of head: ResponseHead, _ control: CacheControl, date: Timestamp, isShared: Bool) {
        if control.isMalformed {
            self.init(lifetime: .zero, basis: .maxAge)
        } else if isShared, let value = control.sharedMaxAge {
            self.init(lifetime: value.duration, basis: .sharedMaxAge)
        } else if let value = control.maxAge {
            self.init(lifetime: value.duration, basis: .maxAge)
        } else if let expires = head.headers.first("expires") {
            // `Expires: 0` and anything else that is not a date mean stale (section 5.3).
            let end = HTTPDate.timestamp(expires) ?? date
            self.init(lifetime: max(.zero, end - date), basis: .expires)
        } else if let guess = Self.heuristic(head, control, date: date) {
            self.init(lifetime: guess, basis: .heuristic)
        } else {
            self.init(lifetime: .zero, basis: .none)
        }
    }

    private init(lifetime: Duration, basis: Basis) {
        self.lifetime = lifetime
        self.basis = basis
    }

    /// A tenth of the time since the last change (section 4.2.2).
    private static func heuristic(_ head: ResponseHead, _ control: CacheControl, date: Timestamp) -> Duration? {
        guard heuristicStatuses.contains(head.status) || control.isPublic,
            let changed = head.headers.first("last-modified").flatMap(HTTPDate.timestamp), changed <= date
        else { return nil }
        return min((date - changed) / 10, maxHeuristic)
    }

    /// The age of a response when it arrived (section 4.2.3): the first member of `Age` and the time since
    /// the request. `Age` that is not a number counts as zero (section 5.1).
    ///
    /// The time since `Date` is left out, which the RFC permits: the clock of the origin may be wrong, and
    /// one that is an hour behind would make every response stale.
    static func age(of headers: HeaderFields, requestedAt: Timestamp, respondedAt: Timestamp) -> Duration {
        let member = headers.first("age")?.split(separator: ",", omittingEmptySubsequences: false).first
        let age = member.map { DeltaSeconds($0.trimmed).duration } ?? .zero
        return age + max(.zero, respondedAt - requestedAt)
    }
}
