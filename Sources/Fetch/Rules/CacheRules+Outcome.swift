internal import Commands
internal import Transfers

extension CacheRules {
    /// The next step after a response.
    ///
    /// | response | answer | store |
    /// |---|---|---|
    /// | cut off | as ``fallback(after:for:stored:now:)`` for `disconnected` | unchanged |
    /// | 304 that fits | the stored body, with updated headers | row updated, or removed where the 304 forbids it |
    /// | 304 with another tag, or for a row that is gone | ask again without conditions | unchanged |
    /// | 500, 502, 503, 504, and the fallback permits the stored one | the stored one | unchanged |
    /// | 404, 410 | the response | takes the place of the stored one; where it may not be stored, row removed |
    /// | other 4xx, 5xx | the response | a good stored one stays |
    /// | any other | the response | stored, where it may be |
    /// - Parameter stored: the row that the decision was made with, or nil where it is gone.
    func outcome(
        of exchange: FetchExchange, for request: FetchRequest, stored: StoredResponse?, now: Timestamp
    ) -> FetchOutcome {
        guard exchange.isComplete else { return fallback(.disconnected, for: request, stored: stored, now: now) }
        if exchange.head.status == 304 { return notModified(exchange, for: request, stored: stored, now: now) }
        if FetchFailure.errorStatuses.contains(exchange.head.status), stored?.isGood == true {
            return fallback(.status(exchange.head.status), for: request, stored: stored, now: now)
        }
        let response = StoredResponse(exchange, for: request, isShared: isShared)
        let changed = stored.map { $0.status != response.status || $0.sha256 != response.sha256 } ?? true
        var result = FetchResult(response, source: .network, changed: changed, now: now)
        if isWithheld(exchange.head, for: request) { result.withhold() }
        return .answered(result, change(by: response, exchange, for: request, stored: stored))
    }

    private func change(
        by response: StoredResponse, _ exchange: FetchExchange, for request: FetchRequest, stored: StoredResponse?
    ) -> StoreChange {
        let isGone = response.status == 404 || response.status == 410
        if objection(to: exchange, for: request) != nil {
            return isGone ? stored.map { .remove($0.key) } ?? .none : .none
        }
        if response.status >= 400, !isGone, stored?.isGood == true { return .none }
        return .write(response, replacing: replaced(stored, by: response))
    }

    /// The row that no longer answers this request, where its key differs.
    private func replaced(_ stored: StoredResponse?, by response: StoredResponse) -> CacheKey? {
        stored.flatMap { $0.key == response.key ? nil : $0.key }
    }

    private func fallback(
        _ failure: FetchFailure, for request: FetchRequest, stored: StoredResponse?, now: Timestamp
    ) -> FetchOutcome {
        switch fallback(after: failure, for: request, stored: stored, now: now) {
        case .stored(let answer): .answered(FetchResult(answer, now: now), .none)
        case .refused(let refusal): .refused(refusal, .none)
        }
    }

    private func notModified(
        _ exchange: FetchExchange, for request: FetchRequest, stored: StoredResponse?, now: Timestamp
    ) -> FetchOutcome {
        guard exchange.asked.isConditional else { return .refused(.unexpectedNotModified, .none) }
        guard let stored, fits(exchange.head, stored) else { return .askAgain(exchange.asked.withoutConditions) }
        let updated = stored.updated(by: exchange, for: request, isShared: isShared)
        var result = FetchResult(updated, source: .notModified, changed: false, now: now)
        // The 304 may bring `no-store`, or `private` to a shared cache.
        let head = ResponseHead(status: updated.status, headers: updated.headers)
        if isWithheld(head, for: request) { result.withhold() }
        guard objection(to: head, isComplete: true, for: request) == nil else {
            return .answered(result, .remove(stored.key))
        }
        return .answered(result, .write(updated, replacing: replaced(stored, by: updated)))
    }

    /// Whether a 304 concerns the stored response (RFC 9111, section 4.3.4): it has the same tag, or none. A
    /// strong tag for a response that was stored without one names another body.
    private func fits(_ head: ResponseHead, _ stored: StoredResponse) -> Bool {
        guard let tag = EntityTag(in: head.headers) else { return true }
        return stored.etag.map(tag.isSame) ?? tag.isWeak
    }
}
