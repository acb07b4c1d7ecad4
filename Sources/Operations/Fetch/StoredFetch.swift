package import Commands
package import HTTPClient

/// The stored answer to a fetch, without a worker and without the network.
package struct StoredFetch: Sendable {
    /// The next step of a reader.
    package enum Step: Sendable {
        /// The stored response is the answer.
        case stored(StoredFetch)
        /// It is the answer, and is refreshed later.
        case storedThenRefresh(StoredFetch)
        /// A command has to ask the origin; the stored response, where there is one, is shown meanwhile.
        case ask(first: StoredFetch?)
        /// There is no answer: a sentence.
        case refused(String)
    }

    /// As the result of a command.
    package let result: JSONValue
    /// Since its origin made or confirmed it; nil: unknown.
    package let age: Duration?
    /// Why a stale response is shown; nil while it is fresh.
    package let staleBecause: String?
    /// The path of a body that the result does not have.
    package var bodyFile: String? { result["bodyFile"]?.string }

    /// Looks into the store.
    /// - Parameters:
    ///   - payload: of the fetch.
    ///   - credentials: of sluice.yaml, because they are part of the key.
    /// - Returns: the step, and the unique key of the command for it.
    /// - Throws: ``PayloadError``; ``ResponseStoreError``.
    package static func look(
        _ payload: JSONValue, _ credentials: CredentialStore, in store: ResponseStore?, now: Timestamp = .now
    ) throws -> (step: Step, uniqueKey: String) {
        let fetch = try FetchPayload(payload)
        var redirects = RedirectRules(fetch.url, method: "GET")
        var uniqueKey: String?
        while true {
            let headers = fetch.headers.filter { redirects.sends(field: $0.name) }
            let destination = redirects.credentialDestination
            let hasCredential = credentials[destination].map { credential in
                !headers.contains { $0.isNamed(credential.headerName.lowercased()) }
            }
            let request = fetch.request(
                for: redirects.url, headers, credential: hasCredential == true ? destination : nil)
            uniqueKey = uniqueKey ?? CacheKey.uniqueKey(of: request)
            let stored = try store.flatMap { try select(request, in: $0) }
            let decision = CacheRules().decision(for: request, stored: stored?.response, now: now)
            if let answer = decision.answer,
                case .follow = redirects.step(
                    status: answer.response.status, location: answer.response.headers.first("location"))
            {
                continue
            }
            return (step(decision, stored, redirects, now: now), uniqueKey ?? "")
        }
    }

    private static func select(_ request: FetchRequest, in store: ResponseStore) throws -> StoredBody? {
        let variants = try store.variants(url: request.url, partition: request.partition)
        guard let response = VariantChoice.select(variants.map(\.response), for: request.headers) else { return nil }
        return variants.first { $0.response.key == response.key && $0.isReadable }
    }

    private static func step(
        _ decision: FetchDecision, _ stored: StoredBody?, _ redirects: RedirectRules, now: Timestamp
    ) -> Step {
        func shown(_ answer: StoredAnswer) -> StoredFetch {
            StoredFetch(answer, stored, redirects, now: now)
        }
        switch decision {
        case .stored(let answer): return .stored(shown(answer))
        case .storedThenRefresh(let answer, _): return .storedThenRefresh(shown(answer))
        case .ask(_, let first): return .ask(first: first.map(shown))
        case .refused(let refusal): return .refused(refusal.message(url: redirects.url.text))
        }
    }

    private init(_ answer: StoredAnswer, _ stored: StoredBody?, _ redirects: RedirectRules, now: Timestamp) {
        let result = FetchResult(answer, now: now)
        let url = redirects.hasRedirected ? redirects.url.displayText : nil
        self.result = (try? JSONValue(parsing: FetchBody(stored).json(result, url: url))) ?? .null
        age = result.age
        staleBecause = result.staleBecause?.rawValue
    }
}

extension FetchDecision {
    /// The stored answer, where there is one.
    fileprivate var answer: StoredAnswer? {
        switch self {
        case .stored(let answer), .storedThenRefresh(let answer, _): answer
        case .ask(_, let first): first
        case .refused: nil
        }
    }
}
