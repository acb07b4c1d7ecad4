internal import Commands

extension CacheRules {
    /// The first step of a fetch.
    ///
    /// | stored response | both | reload | network | stored |
    /// |---|---|---|---|---|
    /// | none | ask | ask | ask | refused |
    /// | explicitly fresh | stored | ask; stored if `immutable` | ask | stored |
    /// | fresh by a guess | stored, and ask | ask | ask | stored |
    /// | in `stale-while-revalidate` | stored, refreshed later | ask | ask | stored |
    /// | stale | stored, and ask | ask | ask | stored |
    /// | `must-revalidate` and stale, `no-cache`, invalidated | ask | ask | ask | refused |
    /// | `Vary: *` | ask | ask | ask | stored |
    ///
    /// A response that is more stale than `maxStale` is not shown.
    /// - Parameter stored: the one of ``VariantChoice``.
    func decision(for request: FetchRequest, stored: StoredResponse?, now: Timestamp) -> FetchDecision {
        let question = ConditionalRequest(validating: stored, mode: request.mode)
        switch request.mode {
        case .stored: return storedOnly(for: request, stored: stored, now: now)
        case .network: return .ask(question, first: nil)
        case .reload:
            guard let stored, stored.flags.contains(.immutable), stored.freshFor(at: now) > .zero else {
                return .ask(question, first: nil)
            }
            return .stored(StoredAnswer(response: stored))
        case .both:
            guard let stored, prohibition(of: stored, now: now) == nil, !stored.flags.contains(.variesByAnything)
            else { return .ask(question, first: nil) }
            return both(question, for: request, stored: stored, now: now)
        }
    }

    private func both(
        _ question: ConditionalRequest, for request: FetchRequest, stored: StoredResponse, now: Timestamp
    ) -> FetchDecision {
        if stored.freshFor(at: now) > .zero { return .stored(StoredAnswer(response: stored)) }
        if stored.isFresh(at: now) { return .ask(question, first: StoredAnswer(response: stored)) }
        guard isAccepted(stored, by: request, now: now) else { return .ask(question, first: nil) }
        if now >= stored.validatedAt, now < stored.staleWhileUntil {
            return .storedThenRefresh(StoredAnswer(response: stored, staleBecause: .whileRevalidating), question)
        }
        return .ask(question, first: StoredAnswer(response: stored, staleBecause: .asking))
    }

    private func storedOnly(for request: FetchRequest, stored: StoredResponse?, now: Timestamp) -> FetchDecision {
        guard let stored else { return .refused(.nothingStored) }
        if let prohibition = prohibition(of: stored, now: now) { return .refused(.forbidden(prohibition)) }
        let isCurrent = stored.isFresh(at: now) && !stored.flags.contains(.variesByAnything)
        if isCurrent { return .stored(StoredAnswer(response: stored)) }
        guard isAccepted(stored, by: request, now: now) else {
            return .refused(tooStale(stored, for: request, now: now))
        }
        return .stored(StoredAnswer(response: stored, staleBecause: .requested))
    }
}
