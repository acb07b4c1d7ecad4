/// The next step after a response, decided by ``CacheRules/outcome(of:for:stored:now:)``.
enum FetchOutcome: Sendable, Equatable {
    /// The answer. A status of 400 and more is one too; ``HTTPVerdict`` says how the command ends.
    case answered(FetchResult, StoreChange)
    /// Ask again with this request, once: the 304 does not fit the stored response.
    case askAgain(ConditionalRequest)
    /// The response is an error or is cut off, and the cache has no answer instead.
    case refused(FetchRefusal, StoreChange)
}
