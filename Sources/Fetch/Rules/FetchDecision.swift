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
