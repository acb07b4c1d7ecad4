internal import Commands
internal import HTTPClient
internal import Transfers

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

extension CacheRules {
    /// The final statuses whose caching is understood: those of RFC 9110 and 451, without 206, 304 and the
    /// ones that concern a connection, a proxy or a condition of the request. RFC 6585 forbids to store 428,
    /// 429, 431 and 511.
    private static let understood: Set<Int> = [
        200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 406, 409, 410, 411,
        413, 414, 415, 422, 451, 500, 501, 502, 503, 504, 505,
    ]

    /// - Returns: why the response must not be stored; nil where it may.
    func objection(to exchange: FetchExchange, for request: FetchRequest) -> StorageRefusal? {
        objection(to: exchange.head, isComplete: exchange.isComplete, for: request)
    }

    /// - Parameter head: of a response, or of a stored one as a 304 has updated it.
    func objection(to head: ResponseHead, isComplete: Bool, for request: FetchRequest) -> StorageRefusal? {
        let control = CacheControl(head.headers)
        if isWithheld(head, for: request) { return .noStore }
        guard Self.understood.contains(head.status) else { return .status }
        guard isComplete else { return .incomplete }
        if isShared {
            if control.isPrivate { return .isPrivate }
            let isPermitted = control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil
            if request.headers.contains("authorization"), !isPermitted { return .authorization }
        }
        let hasLifetime =
            control.maxAge != nil || control.isPublic || isShared && control.sharedMaxAge != nil
            || control.isPrivate || head.headers.contains("expires")
        let isHeuristic = Freshness.heuristicStatuses.contains(head.status)
        return hasLifetime || isHeuristic ? nil : .noLifetime
    }

    /// Whether `no-store` applies, so that the result has neither headers nor body. `must-understand` takes
    /// the place of the response's `no-store` where its status is understood (RFC 9111, section 5.2.2.3).
    func isWithheld(_ head: ResponseHead, for request: FetchRequest) -> Bool {
        if CacheControl(request.headers).isNoStore { return true }
        let control = CacheControl(head.headers)
        return control.isNoStore && !(control.mustUnderstand && Self.understood.contains(head.status))
    }
}

/// The stored responses that a request of `request` or `upload` makes stale (RFC 9111, section 4.4).
enum CacheInvalidation {
    /// The methods that change nothing (RFC 9110, section 9.2.1). Any other one may change its target.
    private static let safe: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE"]

    /// - Returns: at most three URLs in the form of ``CacheKey/url(_:)``: the target, and the `Location` and
    ///   `Content-Location` of the same origin. All partitions and variants of each are concerned. Empty for
    ///   a safe method, and for a status other than 2xx and 3xx.
    static func urls(method: String, url: ResourceURL, response: ResponseHead) -> [String] {
        guard !safe.contains(method), (200..<400).contains(response.status), url.scheme != .file else { return [] }
        var urls = [CacheKey.normalized(url)]
        for name in ["location", "content-location"] {
            guard let reference = response.headers.first(name), let target = url.resolving(reference),
                target.destination == url.destination, case let text = CacheKey.normalized(target),
                !urls.contains(text)
            else { continue }
            urls.append(text)
        }
        return urls
    }
}
