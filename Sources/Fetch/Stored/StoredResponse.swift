internal import Commands
internal import Transfers

/// A response in the cache: the columns of its row, except for the place of its body.
struct StoredResponse: Sendable, Equatable {
    var key: CacheKey
    var status: Int
    /// Without the fields of ``UnstoredFields``.
    var headers: HeaderFields
    /// Length of the body.
    var bytes: Int64
    /// Of the body, in hexadecimal.
    var sha256: String
    /// When the request that brought the body was sent.
    var requestedAt: Timestamp
    /// When the head of that response arrived.
    var respondedAt: Timestamp
    /// When the last response that confirmed it arrived: that response itself, or a 304.
    var validatedAt: Timestamp
    /// The age at `validatedAt`: the `Age` field and the time from the request to the response.
    var ageAtReceipt: Duration
    /// The end of the freshness lifetime.
    var freshUntil: Timestamp
    /// The end of `stale-if-error`; `freshUntil` where there is none.
    var staleErrorUntil: Timestamp
    /// The end of `stale-while-revalidate`; `freshUntil` where there is none.
    var staleWhileUntil: Timestamp
    var flags: StoredFlags
    /// The validator for `If-None-Match`.
    var etag: EntityTag?
    /// The validator for `If-Modified-Since`: a valid date, as sent.
    var lastModified: String?
    /// When it last answered a command. The least recently used one is deleted first.
    var usedAt: Timestamp
    /// The command that stored it.
    var command: CommandID?
}

extension StoredResponse {
    /// - Returns: nil where the clock was set back to before the response arrived: the age is unknown.
    func age(at now: Timestamp) -> Duration? {
        now < validatedAt ? nil : max(.zero, ageAtReceipt + (now - validatedAt))
    }

    /// Whether the lifetime is longer than the age (RFC 9111, section 4.2). False while the age is unknown.
    func isFresh(at now: Timestamp) -> Bool { now >= validatedAt && now < freshUntil }

    /// How long it has been stale; nil while the age is unknown, zero while it is fresh.
    func staleness(at now: Timestamp) -> Duration? {
        now < validatedAt ? nil : max(.zero, now - freshUntil)
    }

    /// How long no request is needed. Zero where the lifetime is only a guess, and where each use is
    /// validated.
    func freshFor(at now: Timestamp) -> Duration {
        let isAsked: StoredFlags = [.noCache, .heuristic, .variesByAnything, .invalidated]
        return isFresh(at: now) && flags.isDisjoint(with: isAsked) ? freshUntil - now : .zero
    }

    /// When its origin made it, by its own clock: orders responses to one request (section 4).
    var madeAt: Timestamp { headers.first("date").flatMap(HTTPDate.timestamp) ?? respondedAt }

    /// Whether it may be kept when its origin answers with an error: a success, a redirect, or the absence of
    /// the resource.
    var isGood: Bool { (200..<400).contains(status) || status == 404 || status == 410 }

    /// As it stands after an unsafe request to its URL. In SQL: set the flag and the minimum of each time.
    func invalidated(at now: Timestamp) -> StoredResponse {
        var copy = self
        copy.flags.insert(.invalidated)
        copy.freshUntil = min(freshUntil, now)
        copy.staleErrorUntil = min(staleErrorUntil, now)
        copy.staleWhileUntil = min(staleWhileUntil, now)
        return copy
    }
}
