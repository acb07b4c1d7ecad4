internal import Commands

extension CacheRules {
    /// The answer after a request that failed. A cache that cannot reach the origin is disconnected, and may
    /// then serve stale responses (RFC 9111, section 4.2.4).
    ///
    /// | stored response | offline, disconnected | 500, 502, 503, 504 |
    /// |---|---|---|
    /// | fresh | stored | stored |
    /// | in `stale-if-error` | stored | stored |
    /// | stale | stored, up to `maxStale` | stored with the mode network or a `maxStale`, else refused |
    /// | `must-revalidate` and stale, `no-cache`, invalidated | refused | refused |
    /// | `Vary: *` | stored, as stale | refused |
    ///
    /// A reload is refused always. A validator is not needed.
    func fallback(
        after failure: FetchFailure, for request: FetchRequest, stored: StoredResponse?, now: Timestamp
    ) -> FetchFallback {
        guard let stored else { return .refused(.nothingStored) }
        guard request.mode != .reload else { return .refused(.notConfirmed) }
        if let prohibition = prohibition(of: stored, now: now) { return .refused(.forbidden(prohibition)) }
        let varies = stored.flags.contains(.variesByAnything)
        if stored.isFresh(at: now), !varies { return .stored(StoredAnswer(response: stored)) }
        guard isAccepted(stored, by: request, now: now) else {
            return .refused(tooStale(stored, for: request, now: now))
        }
        let isInErrorWindow = now >= stored.validatedAt && now < stored.staleErrorUntil
        switch failure {
        case .offline: return .stored(StoredAnswer(response: stored, staleBecause: .offline))
        case .disconnected:
            let reason: StaleReason = isInErrorWindow && !varies ? .ifError : .disconnected
            return .stored(StoredAnswer(response: stored, staleBecause: reason))
        case .status(let status):
            guard FetchFailure.errorStatuses.contains(status), stored.isGood else {
                return .refused(.error(status: status))
            }
            if varies { return .refused(.forbidden(.variesByAnything)) }
            if isInErrorWindow { return .stored(StoredAnswer(response: stored, staleBecause: .ifError)) }
            guard request.mode == .network || request.maxStale != nil else {
                return .refused(.error(status: status))
            }
            return .stored(StoredAnswer(response: stored, staleBecause: .requested))
        }
    }
}
