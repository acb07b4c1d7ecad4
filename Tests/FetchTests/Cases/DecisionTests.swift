import Commands
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct DecisionTests {
    /// A stored response, by its state at ``Exchanges/now``.
    enum State: CaseIterable {
        case absent, fresh, immutable, guessed, revalidating, stale, mustRevalidate, noCache, invalidated, varies

        var response: StoredResponse? {
            let old = Exchanges.now + .seconds(-100)
            switch self {
            case .absent: return nil
            case .fresh: return Exchanges.stored([("Cache-Control", "max-age=200, must-revalidate")], at: old)
            case .immutable: return Exchanges.stored([("Cache-Control", "max-age=200, immutable")], at: old)
            case .guessed: return Exchanges.stored([("Last-Modified", "@-100000")], at: old)
            case .revalidating:
                return Exchanges.stored([("Cache-Control", "max-age=60, stale-while-revalidate=60")], at: old)
            case .stale: return Exchanges.stored([("Cache-Control", "max-age=60, immutable")], at: old)
            case .mustRevalidate:
                return Exchanges.stored(
                    [("Cache-Control", "max-age=60, must-revalidate, stale-while-revalidate=60, stale-if-error=60")],
                    at: old)
            case .noCache: return Exchanges.stored([("Cache-Control", "max-age=200, no-cache")], at: old)
            case .invalidated:
                return Exchanges.stored([("Cache-Control", "max-age=200")], at: old).invalidated(at: Exchanges.now)
            case .varies: return Exchanges.stored([("Cache-Control", "max-age=200"), ("Vary", "*")], at: old)
            }
        }
    }

    /// A decision without its payloads.
    private enum Kind: Equatable {
        case stored(StaleReason?)
        case refreshed, ask
        case askAndShow(StaleReason?)
        case refused
    }

    private func kind(_ state: State, _ mode: FetchNetworkUse, maxStale: Duration? = nil) -> Kind {
        var request = Exchanges.request
        (request.mode, request.maxStale) = (mode, maxStale)
        switch CacheRules().decision(for: request, stored: state.response, now: Exchanges.now) {
        case .stored(let answer): return .stored(answer.staleBecause)
        case .storedThenRefresh: return .refreshed
        case .ask(_, let first): return first.map { .askAndShow($0.staleBecause) } ?? .ask
        case .refused: return .refused
        }
    }

    @Test func `mode both shows the stored response and asks unless it is explicitly fresh`() {
        let expected: [State: Kind] = [
            .absent: .ask, .fresh: .stored(nil), .immutable: .stored(nil), .guessed: .askAndShow(nil),
            .revalidating: .refreshed, .stale: .askAndShow(.asking), .mustRevalidate: .ask, .noCache: .ask,
            .invalidated: .ask, .varies: .ask,
        ]
        for state in State.allCases { #expect(kind(state, .both) == expected[state], "\(state)") }
    }

    @Test func `mode reload asks unless the response is immutable and fresh`() {
        for state in State.allCases {
            #expect(kind(state, .reload) == (state == .immutable ? .stored(nil) : .ask), "\(state)")
        }
    }

    @Test func `mode network asks always`() {
        for state in State.allCases { #expect(kind(state, .network) == .ask, "\(state)") }
    }

    @Test func `mode stored never asks`() {
        let expected: [State: Kind] = [
            .absent: .refused, .fresh: .stored(nil), .immutable: .stored(nil), .guessed: .stored(nil),
            .revalidating: .stored(.requested), .stale: .stored(.requested), .mustRevalidate: .refused,
            .noCache: .refused, .invalidated: .refused, .varies: .stored(.requested),
        ]
        for state in State.allCases { #expect(kind(state, .stored) == expected[state], "\(state)") }
    }

    @Test func `a response that is more stale than maxStale is not shown`() {
        // It is stale for 40 s.
        for (maxStale, isShown) in [(40, true), (39, false), (0, false)] {
            let duration = Duration.seconds(maxStale)
            #expect(kind(.stale, .both, maxStale: duration) == (isShown ? .askAndShow(.asking) : .ask))
            #expect(kind(.revalidating, .both, maxStale: duration) == (isShown ? .refreshed : .ask))
            #expect(kind(.stale, .stored, maxStale: duration) == (isShown ? .stored(.requested) : .refused))
            #expect(kind(.fresh, .stored, maxStale: duration) == .stored(nil))
        }
    }

    @Test(arguments: [
        (
            [("ETag", "W/\"a\""), ("Last-Modified", "Fri, 02 Jan 2026 00:00:00 GMT")],
            ["If-None-Match", "If-Modified-Since"]
        ),
        ([("ETag", "\"a\"")], ["If-None-Match"]),
        ([("Last-Modified", "Fri, 02 Jan 2026 00:00:00 GMT")], ["If-Modified-Since"]),
        ([], []),
    ])
    func `a question has every validator, and a reload says that caches must ask`(
        _ fields: [(String, String)], _ names: [String]
    ) {
        let stored = Exchanges.stored(fields + [("Cache-Control", "max-age=0")])
        let question = ConditionalRequest(validating: stored, mode: .both)
        #expect(question.fields.map(\.name) == names && question.isConditional == !names.isEmpty)
        #expect(question.fields.map(\.value) == fields.map(\.1))
        let reload = ConditionalRequest(validating: stored, mode: .reload)
        #expect(reload.fields.map(\.name) == names + ["Cache-Control"])
        #expect(reload.fields.last?.value == (names.isEmpty ? "no-cache" : "max-age=0"))
        #expect(reload.isConditional == !names.isEmpty)
        #expect(reload.withoutConditions.fields == [HTTPField("Cache-Control", "no-cache")])
        #expect(question.withoutConditions.fields.isEmpty)
    }

    // MARK: After a failure

    private func fallback(
        _ state: State, _ failure: FetchFailure, _ mode: FetchNetworkUse = .both, maxStale: Duration? = nil
    ) -> FetchFallback {
        var request = Exchanges.request
        (request.mode, request.maxStale) = (mode, maxStale)
        return CacheRules().fallback(after: failure, for: request, stored: state.response, now: Exchanges.now)
    }

    private func reason(_ fallback: FetchFallback) -> (isStored: Bool, StaleReason?) {
        if case .stored(let answer) = fallback { (true, answer.staleBecause) } else { (false, nil) }
    }

    @Test(arguments: [FetchNetworkUse.both, .network]) func `offline, any age is shown unless the origin forbids it`(
        _ mode: FetchNetworkUse
    ) {
        for (state, shown, because) in [
            (State.fresh, true, StaleReason?.none), (.guessed, true, nil), (.revalidating, true, .offline),
            (.stale, true, .offline), (.varies, true, .offline), (.mustRevalidate, false, nil), (.noCache, false, nil),
            (.invalidated, false, nil), (.absent, false, nil),
        ] {
            #expect(reason(fallback(state, .offline, mode)) == (shown, because), "\(state)")
        }
        #expect(fallback(.absent, .offline, mode) == .refused(.nothingStored))
        #expect(fallback(.noCache, .offline, mode) == .refused(.forbidden(.noCache)))
        let refusal = FetchFallback.refused(.tooStale(.seconds(40), maxStale: .seconds(39)))
        #expect(fallback(.stale, .offline, mode, maxStale: .seconds(39)) == refusal)
    }

    @Test func `a reload that fails shows nothing`() {
        for state in State.allCases where state != .absent {
            #expect(fallback(state, .offline, .reload) == .refused(.notConfirmed))
        }
    }

    @Test(arguments: [500, 502, 503, 504]) func `an error shows a stale response only where it is permitted`(
        _ status: Int
    ) {
        #expect(fallback(.stale, .status(status)) == .refused(.error(status: status)))
        #expect(reason(fallback(.stale, .status(status), maxStale: .seconds(40))) == (true, .requested))
        #expect(reason(fallback(.stale, .status(status), .network)) == (true, .requested))
        #expect(reason(fallback(.fresh, .status(status), .network)) == (true, nil))
        #expect(fallback(.varies, .status(status)) == .refused(.forbidden(.variesByAnything)))
        #expect(fallback(.mustRevalidate, .status(status)) == .refused(.forbidden(.mustRevalidate)))
    }

    @Test func `an error that was stored is not shown instead of another error`() {
        let old = Exchanges.now + .seconds(-5)
        let bad = Exchanges.stored([("Cache-Control", "max-age=1, stale-if-error=60")], status: 500, at: old)
        let fallback = CacheRules().fallback(
            after: .status(503), for: Exchanges.request, stored: bad, now: Exchanges.now)
        #expect(fallback == .refused(.error(status: 503)))
    }

    @Test func `a maxStale of zero excludes a response from the moment it is stale`() {
        var request = Exchanges.request
        request.maxStale = .zero
        let stored = Exchanges.stored([("Cache-Control", "max-age=1, stale-while-revalidate=60")])
        let end = stored.freshUntil
        #expect(CacheRules().decision(for: request, stored: stored, now: end) == .ask(.unconditional, first: nil))
        #expect(
            CacheRules().fallback(after: .offline, for: request, stored: stored, now: end)
                == .refused(.tooStale(.zero, maxStale: .zero)))
    }

    @Test(arguments: [400, 403, 429, 501, 505, 599]) func `another status is not an error of RFC 5861`(_ status: Int) {
        #expect(fallback(.stale, .status(status), .network) == .refused(.error(status: status)))
    }

    @Test func `each refusal says what happened and what to do, without the query of the URL`() {
        let refusals: [FetchRefusal] =
            [
                .nothingStored, .tooStale(.seconds(40), maxStale: .seconds(39)), .tooStale(nil, maxStale: .zero),
                .notConfirmed, .error(status: 503), .unexpectedNotModified,
            ] + FetchRefusal.Prohibition.allCases.map { .forbidden($0) }
        for refusal in refusals {
            let message = refusal.message(url: "http://o.test/a?key=hunter2")
            #expect(message.contains("“http://o.test/a?key=[redacted]”") && message.contains("; "), "\(message)")
        }
        let forbidden = FetchRefusal.forbidden(.mustRevalidate).message(url: "http://o.test/a")
        #expect(forbidden.contains("is stored, but its origin forbids it unasked (must-revalidate)"))
        #expect(FetchRefusal.nothingStored.message(url: "x").hasPrefix("nothing stored"))
    }
}
