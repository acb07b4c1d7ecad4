internal import Commands

/// Decides what a cache may store, show and ask, by RFC 9111, RFC 5861 and RFC 8246. Pure.
///
/// | step | decided by |
/// |---|---|
/// | which of several stored responses fits the request | ``VariantChoice`` |
/// | show it, ask, or both | ``decision(for:stored:now:)`` |
/// | the answer, and the change of the store, after a response | ``outcome(of:for:stored:now:)`` |
/// | the answer after a failure | ``fallback(after:for:stored:now:)`` |
/// | which URLs an unsafe request makes stale | ``CacheInvalidation`` |
///
/// A redirect is a response of its own: each hop is a fetch with the key of its URL.
struct CacheRules: Sendable, Equatable {
    /// Whether several users share the store (`cache.shared`): `private`, `s-maxage`, `proxy-revalidate` and
    /// the rules for `Authorization` then apply.
    var isShared = false
}

extension CacheRules {
    /// The statement that forbids to use a stored response before its origin was asked; nil where there is
    /// none. `Vary: *` is judged by the caller: it permits use while the origin cannot be asked.
    func prohibition(of stored: StoredResponse, now: Timestamp) -> FetchRefusal.Prohibition? {
        if stored.flags.contains(.invalidated) { return .invalidated }
        if stored.flags.contains(.noCache) { return .noCache }
        guard stored.flags.contains(.mustRevalidate) else { return nil }
        // A response that matches no request is shown as a stale one.
        return stored.isFresh(at: now) && !stored.flags.contains(.variesByAnything) ? nil : .mustRevalidate
    }

    /// Whether the request accepts a response that is as stale as this one.
    func isAccepted(_ stored: StoredResponse, by request: FetchRequest, now: Timestamp) -> Bool {
        guard let maxStale = request.maxStale else { return true }
        guard maxStale > .zero, let staleness = stored.staleness(at: now) else { return false }
        return staleness <= maxStale
    }

    func tooStale(_ stored: StoredResponse, for request: FetchRequest, now: Timestamp) -> FetchRefusal {
        .tooStale(stored.staleness(at: now), maxStale: request.maxStale ?? .zero)
    }
}
