internal import Commands

/// The first step of a fetch, decided by ``CacheRules/decision(for:stored:now:)``.
enum FetchDecision: Sendable, Equatable {
    /// Answer with the stored response. No request is needed.
    case stored(StoredAnswer)
    /// Answer with the stored response, and refresh it later by a command of the quality of service utility.
    case storedThenRefresh(StoredAnswer, ConditionalRequest)
    /// Show `first`, where there is one, and send the request.
    case ask(ConditionalRequest, first: StoredAnswer?)
    /// There is no answer, and the mode permits no request.
    case refused(FetchRefusal)

    /// The decision for a reader: a stored error is a failure, as it was when it arrived, and is never shown.
    var withoutErrors: FetchDecision {
        switch self {
        case .stored(let answer) where answer.isError: .refused(.storedError(status: answer.response.status))
        case .storedThenRefresh(let answer, let question) where answer.isError: .ask(question, first: nil)
        case .ask(let question, let answer?) where answer.isError: .ask(question, first: nil)
        case .stored, .storedThenRefresh, .ask, .refused: self
        }
    }
}

/// The next step after a response, decided by ``CacheRules/outcome(of:for:stored:now:)``.
enum FetchOutcome: Sendable, Equatable {
    /// The answer. A status of 400 and more is one too; ``HTTPVerdict`` says how the command ends.
    case answered(FetchResult, StoreChange)
    /// Ask again with this request, once: the 304 does not fit the stored response.
    case askAgain(ConditionalRequest)
    /// The response is an error or is cut off, and the cache has no answer instead.
    case refused(FetchRefusal, StoreChange)
}

/// The change of the store that an exchange demands, in one transaction with the body's publication.
enum StoreChange: Sendable, Equatable {
    case none
    /// Write the row, over one with the same key. Delete the row of `replacing`, which answered this request
    /// before under another key.
    case write(StoredResponse, replacing: CacheKey?)
    /// Delete the row: its resource is gone, or it must not be stored any longer.
    case remove(CacheKey)

    var isWrite: Bool {
        if case .write = self { true } else { false }
    }
}

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

/// The answer of the cache after a request that failed.
enum FetchFallback: Sendable, Equatable {
    case stored(StoredAnswer)
    case refused(FetchRefusal)
}

/// A stored response that may be shown.
struct StoredAnswer: Sendable, Equatable {
    var response: StoredResponse
    /// Nil while it is fresh.
    var staleBecause: StaleReason?

    /// Its origin permits to keep an error; it is one also when it comes from the store.
    var isError: Bool { response.status >= 400 }
}

/// Why a stale response is an answer: `staleBecause` of a result.
enum StaleReason: String, Sendable, CaseIterable {
    /// It is shown while its origin is asked.
    case asking
    /// Its origin permits it while it is refreshed (RFC 5861, section 3).
    case whileRevalidating = "stale-while-revalidate"
    /// Its origin permits it after an error (RFC 5861, section 4).
    case ifError = "stale-if-error"
    /// The request asked for it: by its mode or by `maxStale`.
    case requested
    /// The origin cannot be reached.
    case offline
    /// The connection ended before the whole response had arrived.
    case disconnected
}
